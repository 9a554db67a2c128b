"""Small files of secrets: JSON that only its owner can read."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from typing import Any

from acpagent.core import files

FOLDER = "mcp"  # in the home directory
_MODE = 0o600


class PrivateFile:
    """An object in a file with mode 0600, in a directory with mode 0700. Nothing of it is ever logged."""

    def __init__(self, path: str) -> None:
        self.path = path

    def read(self) -> dict[str, Any]:
        """What it holds: nothing if it is missing, is no such file, or can be read by others."""
        try:
            if stat.S_IMODE(os.stat(self.path).st_mode) & 0o077:
                return {}
            with open(self.path, encoding="utf-8") as stream:
                found = json.load(stream)
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def write(self, values: dict[str, Any]) -> None:
        """Replace it. Raises OSError."""
        os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
        if os.path.exists(self.path):
            os.chmod(self.path, _MODE)
        files.write_bytes(self.path, json.dumps(values).encode(), _MODE)

    def remove(self) -> None:
        try:
            os.unlink(self.path)
        except FileNotFoundError:
            return


def tokens_file(home: str, url: str) -> PrivateFile:
    """Where the tokens for a server are kept: by its address, whatever it is called."""
    digest = hashlib.sha256(url.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return PrivateFile(os.path.join(home, FOLDER, f"tokens-{digest}.json"))


def secrets_file(home: str) -> PrivateFile:
    """What `${VAR}` in settings of servers can name beside the environment, by name."""
    return PrivateFile(os.path.join(home, FOLDER, "secrets.json"))
