"""Skills: instructions in `<name>/SKILL.md` or `<name>.md` that a person or the model calls up when they fit."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Literal

from acpagent.config.problems import ConfigError
from acpagent.core.bounds import one_line, printable
from acpagent.core.catalogue import Phrase
from acpagent.extensions import frontmatter
from acpagent.extensions.folders import Folder
from acpagent.extensions.frontmatter import Page
from acpagent.extensions.problems import Problem, of_config

Scope = Literal["project", "plugin", "config", "user"]

FILE = "SKILL.md"
MAX_DESCRIPTION = 1024
MAX_COMPATIBILITY = 500
MAX_CATALOGUE = 12_000  # letters
MAX_BESIDE = 40
NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
# What can be called by a name on the wire all the same (CMD-03).
_CALLABLE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
MAX_NAME = 64
_NO_SKILLS = frozenset({"readme.md", "license.md", "changelog.md", "contributing.md", "agents.md", "claude.md"})

_SOBA = frozenset({"version", "triggers", "required-sections", "disable-model-invocation", "memory-policy"})
_FIELDS = frozenset(
    {"name", "description", "license", "compatibility", "metadata", "allowed-tools", "argument-hint"}
    | {"disable-model-invocation", "user-invocable", "soba"}
    # Other agents read these; they mean nothing here, and nobody need be told each time.
    | {"model", "effort", "context", "agent", "runAs", "invocation", "version", "when_to_use"}
)


@dataclass(frozen=True, slots=True)
class Skill:
    """`path` is the file, absolute; `beside` are files that lie with it, relative to its directory. `owner` names the
    plugin it came with. `for_model`: the model may call it up by itself; `for_person`: it is offered as a command.
    `allowed_tools` is what its author asks for, and allows nothing."""

    name: str
    description: str
    body: str = field(repr=False)
    scope: Scope
    path: str
    real: str
    owner: str = ""
    license: str = ""
    compatibility: str = ""
    metadata: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    allowed_tools: tuple[str, ...] = ()
    hint: str | None = None
    for_model: bool = True
    for_person: bool = True
    triggers: tuple[str, ...] = ()
    required_sections: tuple[str, ...] = ()
    memory_policy: str = "none"
    version: str = ""
    beside: tuple[str, ...] = ()
    digest: str = ""


Found = tuple[tuple[Skill, ...], tuple[Problem, ...]]


def find(folder: Folder, scope: Scope, owner: str = "") -> Found:
    """The skills in a directory, sorted by file, and what is wrong with others."""
    skills: list[Skill] = []
    problems: list[Problem] = []
    try:
        names = folder.names()
    except ConfigError as error:
        return (), of_config("skill", error)
    for name, is_directory in names:
        try:
            found = _look(folder, name, is_directory)
        except ConfigError as error:
            problems += of_config("skill", error)
            continue
        if found is not None:
            skill, remarks = found
            skills.append(replace(skill, scope=scope, owner=owner))
            problems += remarks
    return tuple(skills), tuple(problems)


def _look(folder: Folder, name: str, is_directory: bool) -> tuple[Skill, tuple[Problem, ...]] | None:
    """The skill that an entry of a directory is; None if it is meant for none. Raises `ConfigError`."""
    if name.startswith("."):
        return None
    if not is_directory:
        if not name.endswith(".md") or name.lower() in _NO_SKILLS:
            return None
        return _read(folder, name, name.removesuffix(".md"))
    inside = folder.names(name)
    if (FILE, False) not in inside:
        return None
    skill, remarks = _read(folder, f"{name}/{FILE}", name)
    return replace(skill, beside=tuple(_beside(folder, name, inside))), remarks


def _read(folder: Folder, file: str, called: str) -> tuple[Skill, tuple[Problem, ...]]:
    data = folder.read(file, frontmatter.MAX_BYTES)
    skill, remarks = parse(f"{folder.path}/{file}", data, called)
    return replace(skill, real=folder.real(file)), remarks


def _beside(folder: Folder, name: str, inside: Iterable[tuple[str, bool]]) -> Iterator[str]:
    """Files of a skill beside its text, two levels deep: what lies further down its text has to name."""
    left = MAX_BESIDE
    for one, is_directory in inside:
        try:
            deeper = folder.names(f"{name}/{one}") if is_directory else ()
        except ConfigError:
            continue
        for path in [f"{one}/{two}" for two, is_inner in deeper if not is_inner] if is_directory else [one]:
            if left and path != FILE and not one.startswith("."):
                left -= 1
                yield path


@lru_cache(maxsize=512)
def parse(path: str, data: bytes, called: str) -> tuple[Skill, tuple[Problem, ...]]:
    """The skill that a file's content describes; `called` is what its file or directory is called. Raises
    `ConfigError` for one that cannot be used."""
    page = frontmatter.read("skill", path, data)
    if page.head is None:
        raise frontmatter.error(page, "description", Phrase("what_missing"), Phrase("remedy_skill_begin"))
    fields = page.fields()
    remarks = [*page.remarks, *frontmatter.unknown_fields("skill", page, _FIELDS)]
    reader = _Fields(page, fields, remarks)
    name, description = reader.name(called), reader.description()
    if not page.body.strip():
        raise frontmatter.error(page, "description", Phrase("what_no_text_after"), Phrase("remedy_skill_text"))
    soba = reader.soba()
    skill = Skill(
        name=name,
        description=description,
        body=page.body,
        scope="user",
        path=path,
        real=path,
        license=reader.text("license"),
        compatibility=reader.text("compatibility", MAX_COMPATIBILITY),
        metadata=reader.metadata(),
        allowed_tools=_tools(reader.words("allowed-tools")),
        hint=frontmatter.hint(fields),
        for_model=not (reader.flag(fields, "disable-model-invocation", False) or soba["off"]),
        for_person=reader.flag(fields, "user-invocable", True),
        triggers=soba["triggers"],
        required_sections=soba["sections"],
        memory_policy=soba["memory"],
        version=soba["version"],
        digest=hashlib.sha256(data).hexdigest(),
    )
    return skill, tuple(remarks)


class _Fields:
    """Reads fields one by one, and remarks on those that are not as they should be."""

    def __init__(self, page: Page, fields: Mapping[str, Any], remarks: list[Problem]) -> None:
        self._page = page
        self._fields = fields
        self._remarks = remarks

    def name(self, called: str) -> str:
        """What it calls itself, or else what its file is called. Raises `ConfigError` for what nobody could type."""
        name = self._fields.get("name", called)
        if not isinstance(name, str) or len(name) > MAX_NAME or not _CALLABLE.fullmatch(name):
            remedy = Phrase("remedy_skill_name", most=MAX_NAME)
            raise frontmatter.error(self._page, "name", Phrase("what_no_skill_name"), remedy)
        if not NAME.fullmatch(name):
            self.remark("name", Phrase("what_odd_skill_name"), Phrase("remedy_rename"))
        elif name != called:
            self.remark("name", Phrase("what_differs", name=printable(called)), Phrase("remedy_same"))
        return name

    def description(self) -> str:
        text = self._fields.get("description")
        if not isinstance(text, str) or not text.strip():
            remedy = Phrase("remedy_description")
            raise frontmatter.error(self._page, "description", Phrase("what_missing"), remedy)
        if len(text) > MAX_DESCRIPTION:
            self.remark("description", Phrase("what_long_cut", most=MAX_DESCRIPTION), Phrase("remedy_shorten"))
        return one_line(text, MAX_DESCRIPTION)

    def text(self, key: str, limit: int = 200) -> str:
        value = self._fields.get(key)
        if value is None:
            return ""
        if not isinstance(value, str | int | float) or len(str(value)) > limit:
            self.remark(key, Phrase("what_no_short_text"), Phrase("remedy_letters", most=limit))
            return ""
        return one_line(str(value), limit)

    def words(self, key: str, within: Mapping[str, Any] | None = None) -> tuple[str, ...]:
        """A list of texts, or a text that stands for one."""
        value = (self._fields if within is None else within).get(key)
        if value is None:
            return ()
        if isinstance(value, str):
            return (value,)
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            self.remark(key, Phrase("what_no_list"), Phrase("remedy_list"))
            return ()
        return tuple(value)

    def flag(self, fields: Mapping[str, Any], key: str, default: bool) -> bool:
        """Yes or no. What is neither is the more careful of the two: as if somebody had wanted to restrict it."""
        value = fields.get(key, default)
        if isinstance(value, str) and value.lower() in ("true", "false"):
            value = value.lower() == "true"
        if not isinstance(value, bool):
            self.remark(key, Phrase("what_counts_as", value=str(not default).lower()), Phrase("remedy_true_false"))
            return not default
        return value

    def metadata(self) -> Mapping[str, str]:
        value = self._fields.get("metadata", {})
        if not isinstance(value, dict):
            self.remark("metadata", Phrase("what_no_map"), Phrase("remedy_map"))
            return MappingProxyType({})
        plain = {key: str(one) for key, one in value.items() if isinstance(one, str | int | float)}
        if len(plain) < len(value):
            self.remark("metadata", Phrase("what_no_texts"), Phrase("remedy_texts"))
        return MappingProxyType(plain)

    def soba(self) -> dict[str, Any]:
        """What the block of that name says: `version`, `triggers`, `sections`, `memory`, `off`."""
        block = self._fields.get("soba") or {}
        if not isinstance(block, dict):
            self.remark("soba", Phrase("what_no_map"), Phrase("remedy_map"))
            block = {}
        for key in block.keys() - _SOBA:
            self.remark("soba", Phrase("what_unknown_part", name=one_line(key, 40)), Phrase("remedy_check_name"))
        memory = block.get("memory-policy", "none")
        if memory not in ("none", "read", "write", "read-write"):
            self.remark("soba", Phrase("what_memory_policy"), Phrase("remedy_memory_policy"))
            memory = "none"
        return {
            "version": one_line(str(block.get("version", "")), 80),
            "triggers": self.words("triggers", block),
            "sections": self.words("required-sections", block),
            "memory": memory,
            "off": self.flag(block, "disable-model-invocation", False),
        }

    def remark(self, key: str, what: str, remedy: str) -> None:
        told_of = Phrase("problem_field", name=key, what=what)
        self._remarks.append(Problem("skill", self._page.file, self._page.line(key), told_of, remedy, False))


def _tools(written: Sequence[str]) -> tuple[str, ...]:
    """`Read, Grep Bash(git diff:*)`: names apart by commas or spaces that are in no brackets."""
    return tuple(name for text in written for name in re.findall(r"[^\s,()]+(?:\([^()]*\))?", text))


def invoked(skill: Skill, arguments: str = "") -> str:
    """What the model reads when a skill is called up: for a message of the person, or the result of a tool."""
    body = skill.body.replace("$ARGUMENTS", arguments)
    source = f"({skill.scope}{' ' if skill.owner else ''}{skill.owner} · {printable(skill.path)})"
    parts = [f"# Skill: {skill.name}", f"> {skill.description}", source, body]
    if skill.beside:
        names = "\n".join(f"- {printable(one)}" for one in skill.beside)
        parts.append(f"Files beside it, to be read or run only when the text says so:\n{names}")
    if arguments and "$ARGUMENTS" not in skill.body:
        parts.append(f"Arguments: {arguments}")
    return "\n\n".join(parts)


def catalogue(skills: Iterable[Skill], tool: str | None = None, limit: int = MAX_CATALOGUE) -> str:
    """What the model is told of the skills that it may call up by itself, in at most `limit` letters; empty without
    any. For a message of its own: the system prompt stays the same whatever skills there are. `tool` calls one up by
    its name; without it the model reads the file."""
    offered = [skill for skill in skills if skill.for_model]
    if not offered:
        return ""
    how = f"call `{tool}` with its name" if tool else "read its file"
    head = f"Skills are instructions for kinds of tasks. When one fits the task, {how} before you begin, and follow it."
    for letters in (MAX_DESCRIPTION, 240, 80, 0):
        text = "\n".join([head, *(_line(skill, letters, tool is None) for skill in offered)])
        if len(text) <= limit:
            return text
    shown: list[str] = [head]
    left = limit - len(head) - 40
    for skill in offered:
        line = _line(skill, 0, tool is None)
        if len(line) + 1 > left:
            break
        left -= len(line) + 1
        shown.append(line)
    return "\n".join([*shown, f"- and {len(offered) - len(shown) + 1} more"])


def _line(skill: Skill, letters: int, with_path: bool) -> str:
    about = f": {one_line(skill.description, letters)}" if letters else ""
    return f"- {skill.name}{about}{f' ({printable(skill.path)})' if with_path else ''}"
