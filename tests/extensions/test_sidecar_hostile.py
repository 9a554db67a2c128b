"""Programs that misbehave: each harms itself alone, quickly, and leaves nothing behind."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest

from acpagent.core.live import LiveOutput
from acpagent.core.paths import Roots
from acpagent.core.scope import Cancelled, Scope
from acpagent.core.toolcalls import ToolContext, ToolRefusal
from acpagent.extensions import sidecar
from acpagent.extensions.speech import SidecarFault
from tests.descendants import marked
from tests.extensions.sidecars import Troupe, example, package

EVERYTHING: dict[str, Any] = {
    "intercepts": ["tool.before"],
    "events": ["turn.end"],
    "ui": True,
    "actions": [{"id": "go", "label": "Go"}],
    "tools": [{"name": "work", "description": "Works"}],
}
CALL = {"tool": "bash", "arguments": {}}
ANSWER_ALL = """
greet()
while True:
    message = read()
    if message.get("method") == "intercept":
        send(id=message["id"], result={"decision": "continue"})
    elif message.get("method") == "ui/action":
        send(id=message["id"], result={"message": "went"})
"""


def context(scope: Scope | None = None, seconds: float = 10.0) -> ToolContext:
    return ToolContext(Roots("/"), scope or Scope(), LiveOutput(), seconds, 1000)


def act(troupe: Troupe) -> str:
    return troupe.host.run_action("probe:go", "", Scope())


def use_tool(troupe: Troupe, ctx: ToolContext) -> Any:
    (tool,) = troupe.host.tools()
    return tool.apply(tool.prepare({}, ctx), ctx)


# -- how it starts


def test_one_whose_program_is_missing(tmp_path: Path) -> None:
    plugin = package(tmp_path, "", actions=EVERYTHING["actions"])
    (tmp_path / "probe" / "program.py").unlink()
    with Troupe(plugin) as troupe:
        assert troupe.screen.notice("plugin_stopped")["cause"] == "it ended with exit code 2"
        with pytest.raises(SidecarFault, match="exit code 2"):
            act(troupe)


@pytest.mark.parametrize(
    ("greeting", "cause"),
    [
        ("read(); sys.exit(3)", "it ended with exit code 3"),
        ("m = read(); send(id=m['id'], error={'code': -1, 'message': 'no'}); time.sleep(60)", "it refused initialize"),
        ("m = read(); send(id=m['id'], result={'api': 2, 'name': 'probe'}); time.sleep(60)", "api: must be 1"),
        ("m = read(); send(id=m['id'], result={'name': 'probe'}); time.sleep(60)", "api: is required"),
        ("m = read(); send(id=m['id'], result=[]); time.sleep(60)", "must be an object"),
        (
            "m = read(); send(id=m['id'], result={'api': 1, 'name': 'probe', 'x': 1}); time.sleep(60)",
            "x: is not a known",
        ),
        ("greet('other'); time.sleep(60)", "another name"),
    ],
    ids=["exits", "refuses", "other api", "no api", "no object", "extra", "other name"],
)
def test_bad_greetings(tmp_path: Path, greeting: str, cause: str) -> None:
    with Troupe(package(tmp_path, greeting, **EVERYTHING)) as troupe:
        assert cause in troupe.screen.notice("plugin_stopped")["cause"]
        assert troupe.intercept(**CALL).blocked is None


def test_silence_from_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sidecar, "HANDSHAKE_SECONDS", 0.5)
    with Troupe(package(tmp_path, "time.sleep(60)", **EVERYTHING)) as troupe:
        assert troupe.screen.notice("plugin_stopped")["cause"] == "it did not answer initialize within 0.5 s"


def test_requests_before_the_greeting_are_refused(tmp_path: Path) -> None:
    program = """
    answer = call(7, "host/ui/publish", surfaceId="a", kind="status", payload={"label": "x"})
    sys.stderr.write(answer["error"]["data"]["reason"] + "\\n")
    """
    # The greeting comes first on its stdin, so `call` skips it: it is never answered.
    with Troupe(package(tmp_path, program, **EVERYTHING)) as troupe:
        troupe.await_log("plugin probe: not_initialized")
        troupe.await_state("stopped")


# -- how it answers


def test_silence_is_skipped_and_three_times_is_the_end(tmp_path: Path) -> None:
    with Troupe(package(tmp_path, "greet()\nwhile True: read()", timeout=1, **EVERYTHING)) as troupe:
        troupe.await_state("ready")
        for _ in range(3):
            began = time.monotonic()
            assert troupe.intercept(**CALL).blocked is None
            assert time.monotonic() - began < 5
        skipped = troupe.screen.notice("plugin_skipped")
        assert skipped == {"plugin": "probe", "event": "tool.before", "cause": "it did not answer within 1 s"}
        assert troupe.screen.notice("plugin_stopped")["cause"] == "it did not answer 3 times in a row"
        began = time.monotonic()
        assert troupe.intercept(**CALL).blocked is None
        assert time.monotonic() - began < 1


def test_silence_of_a_required_one_blocks(tmp_path: Path) -> None:
    program = "greet()\nwhile True: read()"
    able = EVERYTHING | {"intercepts": ["tool.before", "permission.decision"]}
    with Troupe(package(tmp_path, program, required=True, timeout=0.3, **able)) as troupe:
        troupe.await_state("ready")
        outcome = troupe.intercept(**CALL)
        assert outcome.blocked == "the plugin probe is required and could not be asked: it did not answer within 0.3 s"
        outcome = troupe.intercept("permission.decision", tool="bash", action="allow", reason="")
        assert outcome.payload["action"] == "deny"


def test_a_required_one_that_is_gone_blocks(tmp_path: Path) -> None:
    with Troupe(package(tmp_path, "greet()", required=True, **EVERYTHING)) as troupe:
        troupe.await_state("stopped")
        assert "is required and could not be asked: it ended with exit code 0" in troupe.intercept(**CALL).blocked


@pytest.mark.parametrize(
    ("answer", "cause"),
    [
        ('{"decision": "dance"}', "must be one of"),
        ('{"decision": "continue", "extra": 1}', "extra: is not a known key"),
        ("[]", "must be an object"),
        ('{"decision": "deny"}', "cannot answer tool.before with deny"),
        ('{"decision": "replace"}', "a replacement goes with `replace`"),
        ('{"decision": "continue", "replacement": {}}', "a replacement goes with `replace`"),
        ('{"decision": "replace", "replacement": {"tool": "rm"}}', "only arguments can be replaced"),
        ('{"decision": "replace", "replacement": {"arguments": "x"}}', "only arguments can be replaced"),
    ],
)
def test_answers_that_make_no_sense_are_skipped(tmp_path: Path, answer: str, cause: str) -> None:
    program = f'greet()\nm = wait_for("intercept")\nsend(id=m["id"], result=json.loads({answer!r}))\nread()'
    with Troupe(package(tmp_path, program, **EVERYTHING)) as troupe:
        outcome = troupe.intercept(**CALL)
        assert (outcome.blocked, dict(outcome.payload)) == (None, CALL)
        assert cause in troupe.screen.notice("plugin_skipped")["cause"]
        assert troupe.health()[0] == "ready"


def test_a_crash_fails_what_waits_and_nothing_else(tmp_path: Path) -> None:
    program = 'greet()\nwait_for("tool/call")\nos.kill(os.getpid(), 9)'
    with Troupe(package(tmp_path, program, **EVERYTHING), example()) as troupe:
        began = time.monotonic()
        tool = next(tool for tool in troupe.host.tools() if tool.name == "plugin__probe__work")
        with pytest.raises(ToolRefusal, match="The plugin probe could not do it: it was ended by SIGKILL"):
            tool.apply(tool.prepare({}, context()), context())
        assert time.monotonic() - began < 9
        assert troupe.screen.notice("plugin_stopped") == {"plugin": "probe", "cause": "it was ended by SIGKILL"}
        with pytest.raises(ToolRefusal, match="it was ended by SIGKILL"):
            tool.apply(tool.prepare({}, context()), context())
        assert troupe.intercept(tool="bash", arguments={}).blocked is None
        assert troupe.host.run_action("tally:setup", "x", Scope()).startswith("Calls with")


def test_a_tool_that_does_not_end(tmp_path: Path) -> None:
    program = """
    greet()
    while True:
        m = read()
        if m.get("method") == "tool/cancel":
            sys.stderr.write("withdrawn " + m["params"]["callId"][:1] + "\\n")
            sys.stderr.flush()
    """
    with Troupe(package(tmp_path, program, **EVERYTHING)) as troupe:
        troupe.await_state("ready")
        with pytest.raises(ToolRefusal, match=r"did not answer within 0\.3 s"):
            use_tool(troupe, context(seconds=0.3))
        scope = Scope()
        threading.Timer(0.2, scope.cancel).start()
        with pytest.raises(Cancelled):
            use_tool(troupe, context(scope))
        troupe.await_log("plugin probe: withdrawn c", 2)


def test_errors_are_told(tmp_path: Path) -> None:
    program = """
    greet()
    while True:
        m = read()
        if "id" in m:
            send(id=m["id"], error={"code": -5, "message": "out of\\x1b[31m paper"})
    """
    with Troupe(package(tmp_path, program, **EVERYTHING)) as troupe:
        with pytest.raises(SidecarFault) as caught:
            act(troupe)
        assert caught.value.reason == "refused"
        assert "\x1b" not in str(caught.value)
        assert "paper" in str(caught.value)


# -- what it says


def test_garbage_on_stdout(tmp_path: Path) -> None:
    program = """
    greet()
    print("hello, I am here to help", flush=True)
    while True:
        m = read()
        if m.get("method") == "ui/action":
            print("working on it")
            send(id=m["id"], result={"message": "went"})
    """
    with Troupe(package(tmp_path, program, **EVERYTHING)) as troupe:
        assert act(troupe) == "went"
        told = "plugin probe: a line on its stdout is no message; stdout is for messages alone"
        assert troupe.logged.count(told) == 1


def test_nothing_but_garbage(tmp_path: Path) -> None:
    program = "greet()\nwhile True: sys.stdout.write('x' * 100 + '\\n')"
    with Troupe(package(tmp_path, program, **EVERYTHING)) as troupe:
        assert troupe.screen.notice("plugin_stopped")["cause"] == "what it writes to stdout are no messages"


def test_a_frame_that_is_too_large(tmp_path: Path) -> None:
    program = """
    greet()
    m = wait_for("tool/call")
    send(id=m["id"], result={"text": "x" * (9 << 20)})
    time.sleep(60)
    """
    with Troupe(package(tmp_path, program, **EVERYTHING)) as troupe:
        with pytest.raises(ToolRefusal, match="a line of more than 8 MiB"):
            use_tool(troupe, context())
        assert troupe.screen.notice("plugin_stopped")["cause"] == "it sent a line of more than 8 MiB"


def test_a_frame_that_just_fits(tmp_path: Path) -> None:
    program = 'greet()\nm = wait_for("tool/call")\nsend(id=m["id"], result={"text": "x" * (7 << 20)})\nread()'
    with Troupe(package(tmp_path, program, **EVERYTHING)) as troupe:
        assert len(use_tool(troupe, context()).text) <= 1000


def test_what_is_too_large_to_be_told(tmp_path: Path) -> None:
    with Troupe(package(tmp_path, ANSWER_ALL, **EVERYTHING)) as troupe:
        outcome = troupe.intercept(tool="bash", arguments={"text": "x" * (9 << 20)})
        assert outcome.blocked is None
        assert "too large" in troupe.screen.notice("plugin_skipped")["cause"]
        assert troupe.intercept(**CALL).blocked is None


def test_a_flood_of_what_is_published_is_kept_back(tmp_path: Path) -> None:
    program = """
    greet()
    refused = [call(i, "host/ui/publish", surfaceId="a", kind="status", payload={"label": str(i)}) for i in range(200)]
    reasons = {one["error"]["data"]["reason"] for one in refused if "error" in one}
    sys.stderr.write(",".join(reasons) + "\\n"); sys.stderr.flush()
    while True: read()
    """
    with Troupe(package(tmp_path, program, **EVERYTHING)) as troupe:
        began = time.monotonic()
        troupe.await_log("plugin probe: rate_limited")
        most = 50 + 10 * (time.monotonic() - began) + 1
        assert troupe.health()[0] == "ready"
        troupe.screen.wait_for(lambda: len(troupe.screen.surfaces()) >= 50)
    assert len(troupe.screen.surfaces()) < min(most, 200)


@pytest.mark.parametrize(
    "line",
    [
        'dict(method="host/ui/publish", params={"surfaceId": "a", "kind": "status", "payload": {"label": "x"}})',
        'dict(id=1, method="host/ui/nothing", params={})',
        'dict(method="x")',
    ],
)
def test_a_flood_of_messages_is_the_end(tmp_path: Path, line: str) -> None:
    with Troupe(package(tmp_path, f"greet()\nwhile True: send(**{line})", **EVERYTHING)) as troupe:
        cause = troupe.screen.notice("plugin_stopped")["cause"]
        assert cause in ("it says too much", "it does not read what it is told")


def test_a_flood_of_stderr_is_thinned(tmp_path: Path) -> None:
    program = """
    greet()
    for i in range(100000):
        sys.stderr.write("noise\\n")
    sys.stderr.flush()
    read()
    import select
    while not select.select([sys.stdin], [], [], 0.3)[0]:
        sys.stderr.write("quiet\\n")
        sys.stderr.flush()
    """
    with Troupe(package(tmp_path, program, **EVERYTHING)) as troupe:
        troupe.await_log("plugin probe: it writes a lot to stderr; some of it is left out")
        troupe.await_log("quiet")
    assert len(troupe.logged) < 600


def test_one_that_does_not_read(tmp_path: Path) -> None:
    with Troupe(package(tmp_path, "greet()\ntime.sleep(60)", **EVERYTHING)) as troupe:
        troupe.await_state("ready")
        for _ in range(60):
            troupe.host.notify("turn.end", {"text": "x" * 100_000})
        assert troupe.screen.notice("plugin_stopped")["cause"] == "it does not read what it is told"


# -- what it may not


@pytest.mark.parametrize(
    ("method", "params", "reason"),
    [
        ("host/ui/publish", {"surfaceId": "a", "kind": "status", "payload": {"label": "x"}}, "capability_not_declared"),
        ("host/ui/request", {"surfaceId": "a", "payload": {"title": "x", "fields": [
            {"key": "a", "label": "A", "kind": "confirm"}]}}, "capability_not_declared"),
        ("host/files/read", {"path": "/etc/passwd"}, "unknown_method"),
        ("initialize", {}, "unknown_method"),
    ],
)  # fmt: skip
def test_undeclared_capabilities(tmp_path: Path, method: str, params: Any, reason: str) -> None:
    program = f"""
    greet()
    wait_for("initialized")
    answer = call(1, {method!r}, **{params!r})
    sys.stderr.write(answer["error"]["data"]["reason"] + "\\n"); sys.stderr.flush()
    while True: read()
    """
    with Troupe(package(tmp_path, program, events=["turn.end"])) as troupe:
        troupe.await_log(f"plugin probe: {reason}")
        assert troupe.screen.surfaces() == []
        assert troupe.health()[0] == "ready"


def test_what_is_not_declared_is_not_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sidecar, "SHUTDOWN_SECONDS", 6.0)
    program = """
    greet()
    while True:
        sys.stderr.write(read().get("method", "-") + "\\n")
        sys.stderr.flush()
    """
    with Troupe(package(tmp_path, program, events=["turn.end"])) as troupe:
        troupe.await_state("ready")
        assert troupe.intercept(**CALL).blocked is None
        troupe.host.notify("session.start", {})
        troupe.host.notify("turn.end", {})
        assert troupe.host.tools() == troupe.host.actions() == ()
    assert [line.removeprefix("plugin probe: ") for line in troupe.logged] == ["initialized", "event", "shutdown"]


@pytest.mark.parametrize(
    ("kind", "payload", "where"),
    [
        ("status", {}, "params.payload.label: is required"),
        ("status", {"label": "x", "colour": "red"}, "params.payload.colour: is not a known key"),
        ("status", {"label": "x", "progress": 2}, "params.payload.progress: must be at most 1"),
        ("toast", {"label": "x"}, "params.kind: must be one of card, form, notification, status"),
        ("card", {"title": "x", "actions": [{"actionId": "dance", "label": "Dance"}]}, "does not declare an action"),
        ("form", {"title": "x", "fields": []}, "params.payload.fields: must not be empty"),
        ("form", {"title": "x", "fields": [{"key": "a", "label": "A", "kind": "select"}]}, "options: is required"),
        ("form", {"title": "x", "fields": [{"key": "a", "label": "A", "kind": "confirm"}] * 2}, "the same key"),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path: Path, kind: str, payload: Any, where: str) -> None:
    program = f"""
    greet()
    wait_for("initialized")
    answer = call(1, "host/ui/publish", surfaceId="a", kind={kind!r}, payload={payload!r})
    sys.stderr.write(answer["error"]["message"] + "\\n"); sys.stderr.flush()
    while True: read()
    """
    with Troupe(package(tmp_path, program, **EVERYTHING)) as troupe:
        troupe.await_log(where)
        assert troupe.screen.surfaces() == []


def test_controls_are_taken_out_of_what_is_shown(tmp_path: Path) -> None:
    program = """
    greet()
    wait_for("initialized")
    send(method="host/ui/publish", params={"surfaceId": "a", "kind": "status", "payload": {"label": "a\\x1b[2Jb"}})
    read()
    """
    with Troupe(package(tmp_path, program, **EVERYTHING)) as troupe:
        assert troupe.screen.surface("status").payload == {"label": "ab"}


def test_keys_are_kept_from_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROBE_KEY", "secret")
    program = 'greet()\nsys.stderr.write(str(os.environ.get("PROBE_KEY")) + "\\n")'
    with Troupe(package(tmp_path, program, **EVERYTHING), hidden_env=frozenset({"PROBE_KEY"})) as troupe:
        troupe.await_state("stopped")
    assert troupe.logged == ["plugin probe: None"]


# -- a permission can only be made stricter

RANK = ["allow", "ask", "deny"]


@pytest.mark.parametrize("before", RANK)
@pytest.mark.parametrize("decision", ["continue", "allow", "ask", "deny", "block"])
def test_a_permission_is_never_loosened(tmp_path: Path, before: str, decision: str) -> None:
    program = f"""
    greet()
    m = wait_for("intercept")
    send(id=m["id"], result={{"decision": {decision!r}, "reason": "so"}})
    read()
    """
    with Troupe(package(tmp_path, program, intercepts=["permission.decision"])) as troupe:
        outcome = troupe.intercept("permission.decision", tool="bash", action=before, reason="the rule")
        wanted = {"continue": "allow", "block": "deny"}.get(decision, decision)
        assert outcome.payload["action"] == max(before, wanted, key=RANK.index)
        stricter = RANK.index(wanted) > RANK.index(before)
        assert outcome.payload["reason"] == ("the plugin probe says: so" if stricter else "the rule")


def test_a_permission_cannot_be_replaced(tmp_path: Path) -> None:
    program = """
    greet()
    m = wait_for("intercept")
    send(id=m["id"], result={"decision": "replace", "replacement": {"action": "allow"}})
    read()
    """
    with Troupe(package(tmp_path, program, intercepts=["permission.decision"])) as troupe:
        outcome = troupe.intercept("permission.decision", tool="bash", action="deny", reason="the rule")
        assert outcome.payload["action"] == "deny"


def test_each_sees_what_the_one_before_left(tmp_path: Path) -> None:
    program = """
    name = os.path.basename(os.getcwd())
    greet(name)
    m = wait_for("intercept")
    told = m["params"]["payload"]["arguments"]
    send(id=m["id"], result={"decision": "replace", "replacement": {"arguments": {"path": told["path"] + name}}})
    read()
    """
    able = {"intercepts": ["tool.before"]}
    plugins = [package(tmp_path, program, name, **able) for name in ("bee", "ant")]
    with Troupe(*plugins) as troupe:
        outcome = troupe.intercept(tool="read_file", arguments={"path": "/"})
        assert outcome.payload == {"tool": "read_file", "arguments": {"path": "/antbee"}}


# -- how it ends


def test_one_that_ignores_everything_is_killed(tmp_path: Path) -> None:
    program = """
    import signal
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    greet()
    import subprocess
    subprocess.Popen([sys.executable, "-c", "import signal, time; signal.signal(15, 1); time.sleep(60)"])
    while True: time.sleep(60)
    """
    troupe = Troupe(package(tmp_path, program, **EVERYTHING))
    with troupe:
        troupe.await_state("ready")


def test_one_that_closes_its_output_is_ended(tmp_path: Path) -> None:
    program = "greet()\nwait_for('initialized')\nos.close(1)\ntime.sleep(60)"
    with Troupe(package(tmp_path, program, **EVERYTHING)) as troupe:
        assert troupe.screen.notice("plugin_stopped")["cause"] == "it closed its output"
        with pytest.raises(SidecarFault, match="it closed its output"):
            act(troupe)


def test_children_die_with_it(tmp_path: Path) -> None:
    program = """
    greet()
    import subprocess
    subprocess.Popen(["sleep", "60"])
    wait_for("initialized")
    """
    with Troupe(package(tmp_path, program, **EVERYTHING)) as troupe:
        troupe.screen.notice("plugin_stopped")
        assert not marked(troupe.mark)


def test_closing_before_it_is_ready(tmp_path: Path) -> None:
    with Troupe(package(tmp_path, "time.sleep(60)", **EVERYTHING)):
        pass


def test_closing_fails_what_waits(tmp_path: Path) -> None:
    seen: list[str] = []
    program = 'greet()\nwait_for("ui/action")\nsys.stderr.write("asked\\n")\nwhile True: read()'
    with Troupe(package(tmp_path, program, **EVERYTHING)) as troupe:

        def wait() -> None:
            try:
                act(troupe)
            except SidecarFault as fault:
                seen.append(fault.reason)

        thread = threading.Thread(target=wait)
        thread.start()
        troupe.await_log("asked")
        troupe.close()
        thread.join(60)
        assert seen == ["stopped"]


def test_one_that_is_never_started() -> None:
    host = Troupe(example()).host
    with pytest.raises(SidecarFault, match="not started"):
        host.run_action("tally:setup", "", Scope())
    assert host.close(time.monotonic() + 1)
