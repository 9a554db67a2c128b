"""The words of a reading program, sorted by what they mean to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from acpagent.core.shellparse import Word
from acpagent.permission.programs import Program, Takes


@dataclass(slots=True)
class Sorted:
    """`unknown` are options that the table does not have; `never` those it warns of; `seen` the names of all."""

    operands: list[Word] = field(default_factory=list)
    files: list[Word] = field(default_factory=list)
    outputs: list[Word] = field(default_factory=list)
    values: list[Word] = field(default_factory=list)
    unknown: list[Word] = field(default_factory=list)
    never: list[str] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)


def sort(program: Program, args: Sequence[Word]) -> Sorted:
    """Sort the words after a program's name. Options may come after operands, as GNU programs let them."""
    found = Sorted()
    rest = list(args)
    while rest:
        word = rest.pop(0)
        begins = word.text if word.static else word.lead
        if word.static and begins == "--":
            found.operands += rest
            break
        if not begins.startswith("-") or begins == "-":
            found.operands.append(word)
        elif not word.static and not begins.startswith("--"):
            found.unknown.append(word)
        elif begins.startswith("--"):
            _long(program, word, begins, rest, found)
        elif begins[1:].isdigit():  # head -20
            found.values.append(word)
        else:
            _short(program, begins, rest, found)
    return found


def _long(program: Program, word: Word, begins: str, rest: list[Word], found: Sorted) -> None:
    name, given, value = begins.partition("=")
    found.seen.add(name)
    if any(never.startswith(name) for never in program.never):  # programs take abbreviations
        found.never.append(name)
        return
    takes = program.options.get(name)
    if takes is None or (not word.static and not given):
        found.unknown.append(word)
    elif given:
        _give(found, takes or "value", Word(value, word.static, word.kinds, value, word.names))
    elif takes and rest:
        _give(found, takes, rest.pop(0))


def _short(program: Program, text: str, rest: list[Word], found: Sorted) -> None:
    for place, letter in enumerate(text[1:], 1):
        found.seen.add(letter)
        if letter in program.never:
            found.never.append(f"-{letter}")
            return
        takes = program.options.get(letter)
        if takes:
            value = text[place + 1 :]
            if value:
                _give(found, takes, Word(value, True, lead=value))
            elif rest:
                _give(found, takes, rest.pop(0))
            return
        if takes is None and not program.open:
            found.unknown.append(Word(text, True, lead=text))
            return
    if program.open:
        found.unknown.append(Word(text, True, lead=text))  # what is glued to one of its letters may be a path


def _give(found: Sorted, takes: Takes, value: Word) -> None:
    {"file": found.files, "output": found.outputs, "value": found.values, "": found.values}[takes].append(value)
