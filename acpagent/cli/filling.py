"""A form of the agent, filled in at a terminal field by field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from acpagent.cli.asker import Asker, GaveUp
from acpagent.cli.spoken import say
from acpagent.cli.terminal import Terminal
from acpagent.client.questions import FormField, QuestionRequest
from acpagent.core.bounds import one_line

_LETTERS = 300


def fill(request: QuestionRequest, terminal: Terminal) -> dict[str, Any] | None:
    """What the person filled in; None if they declined, by choice or by ending the input. What the form is about has
    been shown already."""
    asker, answers = Asker(terminal), dict[str, Any]()
    alone = len(request.fields) == 1
    try:
        for field in request.fields:
            if not _is_due(field, answers):
                continue
            if not alone:
                terminal.line(f"  {one_line(field.title, _LETTERS)}", "bold")
            value = _ask(asker, field)
            if value is not None:
                answers[field.name] = value
    except GaveUp:
        return None
    return answers


def _is_due(field: FormField, answers: Mapping[str, Any]) -> bool:
    """The agent's questions have a field for one's own words, which counts only where `other` was chosen."""
    twin = "choice" + field.name.removeprefix("other")
    if not field.name.startswith("other") or twin not in answers:
        return True
    return "other" in ([answers[twin]] if isinstance(answers[twin], str) else answers[twin])


def _ask(asker: Asker, field: FormField) -> Any:
    """The answer to one field; None if it was left out. Raises `GaveUp`."""
    if field.kind == "choice":
        return _choice(asker, field)
    if field.kind == "multi":
        return [field.options[place].id for place in asker.several(_rows(field))]
    if field.kind == "boolean":
        return asker.yes(say("ask_yes_no"), default=False)
    return _words(asker, field)


def _choice(asker: Asker, field: FormField) -> str | None:
    way_out = say("ask_decline" if field.required else "ask_leave_out")
    place = asker.choose([*_rows(field), (way_out, "")])
    if place < len(field.options):
        return field.options[place].id
    if field.required:
        raise GaveUp
    return None


def _words(asker: Asker, field: FormField) -> str | float | None:
    """A line of text, or a number; nothing leaves the field out, or declines where it must be filled in."""
    while True:
        question = one_line(field.description, _LETTERS) or say("ask_answer")
        words = asker.perhaps(say("ask_enter_none", question=f"  {question}"))
        if not words:
            if field.required:
                raise GaveUp
            return None
        if field.kind == "text":
            return words
        try:
            return int(words) if field.kind == "integer" else float(words)
        except ValueError:
            asker.terminal.line(say("ask_write_number"), "yellow")


def _rows(field: FormField) -> Sequence[tuple[str, str]]:
    return [(one_line(one.title, _LETTERS), one_line(one.description, _LETTERS)) for one in field.options]
