"""The project's own files, as the tests of its rules read them."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "acpagent"
DOTTED = re.compile(r"acpagent(\.\w+)+")  # in quotes: what importlib or a lazy table is given


@dataclass(frozen=True)
class Module:
    """One file of the package, under the name it is imported by."""

    name: str
    path: Path

    @property
    def tree(self) -> ast.Module:
        return ast.parse(self.path.read_text(encoding="utf-8"), str(self.path))

    @property
    def room(self) -> str:
        """The part of the name that says where it lives: `wire`, `acp.v1`, `acp.connection`, `assembly`."""
        parts = self.name.split(".")[1:]
        if parts[:2] in (["acp", "connection"], ["acp", "v1"]) or parts[:1] == ["runtime"]:
            return ".".join(parts[:2])
        return parts[0] if parts else ""


def modules() -> list[Module]:
    return [Module(dotted(path), path) for path in sorted(PACKAGE.rglob("*.py"))]


def dotted(path: Path) -> str:
    parts = list(path.relative_to(ROOT).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(module: Module) -> Iterator[tuple[str, int]]:
    """What a file imports of ours, with the line: also inside functions, for type hints, and by name."""
    found: list[tuple[str, int]] = []
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            found += [(alias.name, node.lineno) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = _base(module, node)
            found += [(_target(base, alias.name), node.lineno) for alias in node.names]
        elif isinstance(node, ast.Constant) and DOTTED.fullmatch(str(node.value)) and is_module(node.value):
            found.append((node.value, node.lineno))
    ours = [entry for entry in found if entry[0].split(".")[0] == "acpagent"]
    yield from sorted(ours, key=lambda entry: entry[1])


def _base(module: Module, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    depth = node.level - (module.path.name == "__init__.py")
    above = module.name.split(".")[:-depth] if depth else module.name.split(".")
    return ".".join([*above, node.module] if node.module else above)


def _target(base: str, name: str) -> str:
    """`from acpagent.config import locate` imports a module, `from acpagent.config.locate import home` no"""
    return f"{base}.{name}" if is_module(f"{base}.{name}") else base


def is_module(name: str) -> bool:
    path = ROOT.joinpath(*name.split("."))
    return path.with_name(f"{path.name}.py").exists() or path.is_dir()


def tracked() -> list[str]:
    """The files git knows, or all but the obvious leftovers where there is no git."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode == 0:
        return [name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]
    skipped = {".git", ".venv", "build", "dist"}
    found = (path.relative_to(ROOT) for path in ROOT.rglob("*") if path.is_file())
    return [str(name) for name in found if not skipped & set(name.parts) and "__pycache__" not in name.parts]
