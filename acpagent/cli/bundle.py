"""The file that `acpagent doctor --bundle` writes for a bug report. Everything in it goes through the redactor."""

from __future__ import annotations

import io
import os
import platform
import sys
import tarfile
import time
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from importlib import metadata

import yaml

from acpagent.cli.checks.finding import Case, Finding
from acpagent.cli.secrets import Redactor, redacted
from acpagent.config import document, locate
from acpagent.config.problems import ConfigError
from acpagent.version import __version__

ENDINGS = (".zip", ".tar.gz")
_FOLDER = "acpagent-report"
_LONGEST = 4 * 1024 * 1024  # letters of one file in it
_VARIABLES = (
    "ACPAGENT_", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "REQUESTS_CA_BUNDLE", "SSL_CERT", "LANG", "LC_",
    "PYTHON", "TERM", "SHELL", "XDG_CONFIG_HOME", "VIRTUAL_ENV",
)  # fmt: skip


def write(path: str, case: Case, findings: Sequence[Finding], redactor: Redactor) -> None:
    """Write the file, for its owner's eyes only. Raises OSError."""
    texts = {name: redactor.anonymous(text) for name, text in _files(case, findings)}
    files = {name: text[:_LONGEST].encode("utf-8", "replace") for name, text in texts.items()}
    data = _zip(files) if path.endswith(".zip") else _tar(files)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)


def _files(case: Case, findings: Sequence[Finding]) -> Iterator[tuple[str, str]]:
    yield "doctor.txt", "".join(_line(finding) for finding in findings)
    yield "versions.txt", _versions()
    yield "environment.txt", _environment(os.environ)
    yield "config.yaml", _config(case.home)
    yield "stderr.txt", case.stderr
    if case.trace is not None and os.path.exists(case.trace):
        with open(case.trace, encoding="utf-8", errors="replace") as file:
            yield "trace.jsonl", file.read()


def _line(finding: Finding) -> str:
    advice = f"      -> {finding.advice}\n" if finding.advice else ""
    return f"{finding.level:<5} {finding.subject}: {finding.text}\n{advice}"


def _versions() -> str:
    lines = [f"acpagent {__version__}", f"Python {sys.version}", f"system {platform.platform()}", ""]
    found = sorted({f"{one.name} {one.version}" for one in metadata.distributions()}, key=str.lower)
    return "\n".join([*lines, *found, ""])


def _environment(environ: Mapping[str, str]) -> str:
    """The variables that acpagent or what it is made of heeds, and of all others only how many there are."""
    known = {name: text for name, text in environ.items() if name.upper().startswith(_VARIABLES)}
    lines = [f"{name}={text}" for name, text in sorted(known.items())]
    return "\n".join([*lines, f"({len(environ) - len(known)} others)", ""])


def _config(home: str) -> str:
    path = locate.config_file(home)
    try:
        return yaml.safe_dump(redacted(document.read(path).value), sort_keys=False, allow_unicode=True)
    except FileNotFoundError:
        return "# there is none\n"
    except ConfigError as error:
        return "".join(f"# {line}\n" for line in str(error).splitlines())


def _zip(files: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(f"{_FOLDER}/{name}", data)
    return buffer.getvalue()


def _tar(files: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, data in files.items():
            entry = tarfile.TarInfo(f"{_FOLDER}/{name}")
            entry.size, entry.mtime, entry.mode = len(data), int(time.time()), 0o600
            archive.addfile(entry, io.BytesIO(data))
    return buffer.getvalue()
