"""What an installation holds is what the checkout holds."""

from __future__ import annotations

import configparser
import subprocess
import sys
from pathlib import Path

from tests.repository.sources import PACKAGE, ROOT, dotted, tracked


def setup() -> configparser.ConfigParser:
    parser = configparser.ConfigParser()
    parser.read(ROOT / "setup.cfg", encoding="utf-8")
    return parser


def test_every_folder_with_an_init_is_listed() -> None:
    folders = {dotted(init) for init in PACKAGE.rglob("__init__.py")} | {"acpagent.schemas"}
    assert setup()["options"]["packages"].split() == sorted(folders)


def test_every_data_file_is_listed() -> None:
    patterns = {
        package.replace("acpagent.schemas", "schemas").replace(".", "/"): globs.split()
        for package, globs in setup()["options.package_data"].items()
    }
    listed = {
        path.relative_to(ROOT).as_posix()
        for folder, globs in patterns.items()
        for pattern in globs
        for path in (ROOT / folder).glob(pattern)
    }
    inside = [name for name in tracked() if name.startswith(("acpagent/", "schemas/"))]
    assert {name for name in inside if not name.endswith(".py")} == listed


def test_the_installed_package_is_found_from_anywhere(tmp_path: Path) -> None:
    code = "from acpagent.wire.schema import load; print(load('config.json')['title'])"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "acpagent config.yaml\n", "")
