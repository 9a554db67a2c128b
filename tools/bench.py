#!/usr/bin/env python3
"""Measures acpagent as an editor meets it, beside the least that an ACP agent can be (`echo_agent.py`).

    python tools/bench.py [--python PATH] [--json FILE] [--quick]

Builds the wheel and installs it into an environment of its own, or takes the one whose Python is at PATH, which
must have acpagent installed. Both agents run under that Python and talk to the same pretended model, a process on
loopback. Nothing outside a temporary folder is read or written. --quick does little of everything, to see that it
works.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence

from benching import measures, report
from benching.driven import Model
from benching.measures import Entrant, Notes, Sizes

TOOLS = os.path.dirname(os.path.abspath(__file__))
CONTENDER, FLOOR = "acpagent", "echo agent"


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--python", metavar="PATH", help="a Python with acpagent installed")
    parser.add_argument("--json", metavar="FILE", help="write all samples and their summary here")
    parser.add_argument("--quick", action="store_true", help="a smoke run; its figures say nothing")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="acpagent-bench-") as scratch:
        python = os.path.abspath(options.python) if options.python else install(scratch)
        notes = measure(python, scratch, measures.QUICK if options.quick else Sizes())
    figures = report.figures(notes, CONTENDER, FLOOR)
    machine = report.machine()
    print(report.table(figures, CONTENDER, FLOOR))
    print("\n" + ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in machine.items()))
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"machine": machine, "quick": options.quick, "figures": figures}, file, indent=1)
    return 0


def install(scratch: str) -> str:
    """Build the wheel and install it into an empty environment; the path of its Python."""
    wheels, env = os.path.join(scratch, "wheels"), os.path.join(scratch, "env")
    python = os.path.join(env, "bin", "python")
    say("building the wheel and installing it")
    run(sys.executable, os.path.join(TOOLS, "dev.py"), "build", wheels)
    run(sys.executable, "-m", "venv", env)
    wheel = next(name for name in os.listdir(wheels) if name.endswith(".whl"))
    run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", os.path.join(wheels, wheel))
    return python


def measure(python: str, scratch: str, sizes: Sizes) -> Notes:
    """Run every scenario, the agents taking turns so that both meet the same noise."""
    notes = Notes()
    workspace = os.path.join(scratch, "workspace")
    os.mkdir(workspace)
    measures.make_workspace(workspace)
    with Model() as model:
        entrants = (floor(python, scratch, model), contender(python, scratch, model))
        for entrant in entrants:
            entrant.start(workspace).close()  # what only a first start does, such as writing caches
        for scenario, times in measures.SCENARIOS:
            say(scenario.__name__)
            for _ in range(times(sizes)):
                for entrant in entrants:
                    scenario(entrant, model, workspace, sizes, notes)
    return notes


def floor(python: str, scratch: str, model: Model) -> Entrant:
    """Compiled first, as installed packages are."""
    compiled = os.path.join(scratch, "echo_agent.pyc")
    subprocess.run(
        [python, "-c", f"import py_compile; py_compile.compile({echo()!r}, {compiled!r}, doraise=True)"], check=True
    )
    env = {**environment(), "BENCH_MODEL": f"127.0.0.1:{model.port}"}
    return Entrant(FLOOR, (python, compiled), env, keeps_sessions=False)


def contender(python: str, scratch: str, model: Model) -> Entrant:
    """As an editor starts it: by its console script, where there is one beside the Python."""
    home = os.path.join(scratch, "home")
    os.mkdir(home)
    provider = {
        "api": "openai-chat",
        "base_url": f"http://127.0.0.1:{model.port}/v1",
        "models": {"tiny": {"context_window": 1000000}},
    }
    with open(os.path.join(home, "config.yaml"), "w", encoding="utf-8") as file:
        json.dump({"default_model": "local/tiny", "providers": {"local": provider}}, file)  # JSON is YAML
    script = os.path.join(os.path.dirname(python), "acpagent")
    command = (script, "acp") if os.path.exists(script) else (python, "-m", "acpagent", "acp")
    return Entrant(CONTENDER, command, {**environment(), "ACPAGENT_HOME": home, "HOME": home}, keeps_sessions=True)


def environment() -> dict[str, str]:
    """Ours, without what would change how either agent runs."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("ACPAGENT_", "PYTHON"))}


def echo() -> str:
    return os.path.join(TOOLS, "echo_agent.py")


def run(*command: str) -> None:
    """Run a command; what it says is shown only if it fails, and then this program ends."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        sys.stderr.write(done.stdout)
        sys.exit(f"bench.py: {' '.join(command)} failed")


def say(text: str) -> None:
    print(f"bench.py: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
