#!/usr/bin/env python3
"""Import the ACP JSON schema from its npm package into schemas/.

    python tools/import_schema.py           fetch the pinned package, write schemas/acp-v1*.json
    python tools/import_schema.py --check   no network: is the file the recorded one, in canonical form?

Needs `npm` to fetch. The package is pinned by version and by the digest of its archive; what is written is
recorded beside the schema, in acp-v1.origin.json. To move to another version, change the pins and run it.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

PACKAGE = "@agentclientprotocol/sdk"
VERSION = "2.4.0"
INTEGRITY = "sha512-7qJ8nnyj7WesC5ve185ioTpB2/svQoeGV4HA4nLEhgDUrcmBe54/08VcXc/oL4p14tDbxxECZzdYmUYQ+4l+Wg=="
LICENSE = "Apache-2.0"
MEMBER = "package/schema/v1/schema.json"

SCHEMAS = Path(__file__).resolve().parent.parent / "schemas"
SCHEMA = SCHEMAS / "acp-v1.json"
ORIGIN = SCHEMAS / "acp-v1.origin.json"

# Text for readers of the upstream file. `title` stays: it names the branches of a union.
PROSE = {"description", "$comment", "examples", "x-docs-ignore"}
# Under these keys the names are the protocol's own, so one that looks like prose is a field.
NAMES = {"properties", "$defs"}


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Import the ACP JSON schema.")
    parser.add_argument("--check", action="store_true", help="only check the files on disk; no network")
    if parser.parse_args(argv).check:
        problems = check()
        for problem in problems:
            print(problem, file=sys.stderr)
        return 1 if problems else 0
    with tempfile.TemporaryDirectory() as folder:
        archive = fetch(Path(folder))
        verify(archive.read_bytes())
        with tarfile.open(archive) as package:
            member = package.extractfile(MEMBER)
            assert member is not None
            source = member.read()
    SCHEMA.write_text(canonical(without_prose(json.loads(source))), encoding="utf-8")
    ORIGIN.write_text(canonical(origin(source)), encoding="utf-8")
    print(f"wrote {SCHEMA.name} and {ORIGIN.name} from {PACKAGE} {VERSION}")
    return 0


def fetch(folder: Path) -> Path:
    """Download the pinned archive with npm, wherever it is set to download from."""
    command = ["npm", "pack", "--silent", "--ignore-scripts", f"{PACKAGE}@{VERSION}"]
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL, timeout=300)
    (archive,) = folder.glob("*.tgz")
    return archive


def verify(archive: bytes) -> None:
    """Raise unless the archive is the pinned one."""
    digest = "sha512-" + base64.b64encode(hashlib.sha512(archive).digest()).decode("ascii")
    if digest != INTEGRITY:
        raise SystemExit(f"the archive of {PACKAGE} {VERSION} is not the pinned one: {digest}")


def without_prose(schema: Any) -> Any:
    """The schema without text that only readers need."""
    if isinstance(schema, list):
        return [without_prose(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    kept: dict[str, Any] = {}
    for key, value in schema.items():
        if key in NAMES:
            kept[key] = {name: without_prose(part) for name, part in value.items()}
        elif key in ("default", "const", "enum"):
            kept[key] = value
        elif key not in PROSE:
            kept[key] = without_prose(value)
    return kept


def canonical(value: Any) -> str:
    """One spelling of a JSON value, with readable diffs: sorted keys, one space, ASCII."""
    return json.dumps(value, indent=1, sort_keys=True, ensure_ascii=True) + "\n"


def origin(source: bytes) -> dict[str, Any]:
    """Where the schema on disk came from."""
    return {
        "package": PACKAGE,
        "version": VERSION,
        "integrity": INTEGRITY,
        "license": LICENSE,
        "member": MEMBER,
        "member_sha256": hashlib.sha256(source).hexdigest(),
        "sha256": hashlib.sha256(SCHEMA.read_bytes()).hexdigest(),
    }


def check() -> list[str]:
    """What is wrong with the files on disk."""
    text = SCHEMA.read_text(encoding="utf-8")
    recorded = json.loads(ORIGIN.read_text(encoding="utf-8"))
    problems = []
    if hashlib.sha256(text.encode("utf-8")).hexdigest() != recorded["sha256"]:
        problems.append(f"{SCHEMA.name}: its digest is not the one recorded in {ORIGIN.name}")
    if canonical(without_prose(json.loads(text))) != text:
        problems.append(f"{SCHEMA.name}: not in canonical form; run tools/import_schema.py")
    pins = {"package": PACKAGE, "version": VERSION, "integrity": INTEGRITY, "license": LICENSE}
    if {key: recorded.get(key) for key in pins} != pins:
        problems.append(f"{ORIGIN.name}: does not record the pinned package")
    return problems


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
