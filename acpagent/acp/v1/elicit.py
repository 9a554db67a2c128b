"""A form on the wire: as one `elicitation/create`, or as a permission request for each choice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from acpagent.acp.v1.render import tool_fields
from acpagent.core import forms
from acpagent.core.blocks import Text
from acpagent.core.bounds import one_line
from acpagent.core.catalogue import ENGLISH, say, spoken
from acpagent.core.forms import Answer, Field, Form, Option, Value
from acpagent.core.toolcalls import ToolCall
from acpagent.wire import pending

Params = dict[str, Any]
Ask = Callable[[Params], pending.Answer]

# Ends a question without an answer to it; a rejection on the wire, but none in meaning.
SKIP = "skip"
_DONE = "done"
_TITLE_LETTERS = 300
_OPTION_LETTERS = 200
_LOST = Answer("closed")  # the client is gone, and every turn with it
_NONSENSE = "the answer names nothing that was offered"

_TYPES = {"choice": "string", "multi": "array", "text": "string"}
_BOUNDS = {
    "multi": ("minItems", "maxItems"),
    "text": ("minLength", "maxLength"),
    "number": ("minimum", "maximum"),
    "integer": ("minimum", "maximum"),
}
_YES_OR_NO = ("yes", "no")


def form_params(form: Form, language: str = ENGLISH) -> Params:
    """The form for a client that has forms (ELI-02, ELI-03)."""
    schema: Params = {"type": "object", "properties": {field.name: _property(field, language) for field in form.fields}}
    if required := [field.name for field in form.fields if field.required]:
        schema["required"] = required
    params: Params = {"mode": "form", "message": spoken(form.message, language), "requestedSchema": schema}
    return params if form.call is None else {"toolCallId": form.call.id, **params}


def _property(field: Field, language: str) -> Params:
    spelled: Params = {"type": _TYPES.get(field.kind, field.kind), "title": spoken(field.title, language)}
    if field.description:
        spelled["description"] = spoken(field.description, language)
    if field.kind == "choice":
        spelled["oneOf"] = [_const(option, language) for option in field.options]
    elif field.kind == "multi":
        spelled["items"] = {"anyOf": [_const(option, language) for option in field.options]}
    bounds = zip(_BOUNDS.get(field.kind, ()), (field.least, field.most), strict=False)
    return spelled | {name: bound for name, bound in bounds if bound is not None}


def _const(option: Option, language: str) -> Params:
    spelled = {"const": option.id, "title": spoken(option.label, language)}
    return spelled | {"description": spoken(option.description, language)} if option.description else spelled


def form_answer(form: Form, answer: pending.Answer) -> Answer:
    """What came back for a form. What does not fit it is as good as no answer (ELI-05, ELI-06, ELI-11)."""
    if answer.lost:
        return _LOST
    if answer.error is not None:
        return Answer("nobody", reason=_error(answer))
    result = answer.result if isinstance(answer.result, dict) else {}
    action = result.get("action")
    if action == "decline" or action == "cancel":
        return Answer(action)
    if action != "accept":
        return Answer("nobody", reason=_NONSENSE)
    try:
        return Answer("accept", forms.check(form, result.get("content")))
    except ValueError as fault:
        return Answer("nobody", reason=str(fault))


def by_choices(form: Form, ask: Ask, language: str = ENGLISH) -> Answer:
    """Ask what can be chosen, one permission request after another; `ask` sends one and waits. What needs typing is
    left out, as there is no way to ask for it."""
    return _Choices(form, ask, language).run() if form.call is not None else Answer("nobody", reason="no call asks")


class _Unanswered(Exception):
    """The form comes to its end here, with this answer."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.reason)
        self.answer = answer


class _Choices:
    """A form on its way, with what was chosen so far."""

    def __init__(self, form: Form, ask: Ask, language: str) -> None:
        assert form.call is not None
        self._language = language
        self._call: ToolCall = form.call
        self._form = form
        self._ask = ask
        self._values: dict[str, Value] = {}

    def run(self) -> Answer:
        fields = [field for field in self._form.fields if field.kind in ("choice", "multi", "boolean")]
        if any(field.required for field in self._form.fields if field not in fields):
            return Answer("nobody", reason="this client can show no field to type in")
        try:
            for number, field in enumerate(fields, 1):
                question = self._spoken(self._form.message if len(fields) == 1 else field.title)
                value = self._choose(f"q{number}", question, field)
                if value is not None:
                    self._values[field.name] = value
        except _Unanswered as end:
            return end.answer
        return Answer("accept", self._values)

    def _choose(self, prefix: str, question: str, field: Field) -> Value | None:
        """What was chosen; None if the question was skipped."""
        if field.kind == "multi":
            return self._several(prefix, question, field)
        yes_or_no = tuple(Option(id, self._said(f"choice_{id}")) for id in _YES_OR_NO)
        options = field.options if field.kind == "choice" else yes_or_no
        chosen = self._one(question, self._spoken(field.description), self._offered(prefix, options))
        if chosen is None:
            return None
        id = chosen.removeprefix(f"{prefix}:")
        return id == "yes" if field.kind == "boolean" else id

    def _several(self, prefix: str, question: str, field: Field) -> Value | None:
        """One after another, until the person is done or nothing is left."""
        taken: list[Option] = []
        while left := [option for option in field.options if option not in taken]:
            so_far = ", ".join(self._spoken(option.label) for option in taken)
            offered, about = (
                self._offered(prefix, left),
                [self._spoken(field.description), self._said("choice_several")],
            )
            if taken:
                name = one_line(self._said("choice_done", chosen=so_far), _OPTION_LETTERS)
                offered.append({"optionId": _DONE, "name": name, "kind": "allow_once"})
                about.append(self._said("choice_so_far", chosen=so_far))
            chosen = self._one(question, "\n\n".join(filter(None, about)), offered)
            if chosen is None:
                return None
            if chosen == _DONE:
                break
            taken += [option for option in left if f"{prefix}:{option.id}" == chosen]
        return tuple(option.id for option in field.options if option in taken)

    def _one(self, question: str, about: str, offered: Sequence[Params]) -> str | None:
        """Ask, on the real call: the id of what was chosen, None for a skip. Raises `_Unanswered`."""
        text = Text("\n\n".join(filter(None, (about, question))))
        call = replace(self._call, title=one_line(question, _TITLE_LETTERS), content=(text,))
        skip = {"optionId": SKIP, "name": self._said("choice_skip"), "kind": "reject_once"}
        answer = self._ask({"toolCall": tool_fields(call, self._language), "options": [*offered, skip]})
        chosen = self._outcome(answer)
        if chosen == SKIP:
            return None
        for option in offered:
            if option["optionId"] == chosen:
                return str(chosen)
        raise _Unanswered(Answer("nobody", self._values, _NONSENSE))

    def _said(self, code: str, **params: str) -> str:
        return say(code, params, self._language)

    def _spoken(self, text: str) -> str:
        return spoken(text, self._language)

    def _offered(self, prefix: str, options: Sequence[Option]) -> list[Params]:
        """The options of a question; behind a prefix, their ids meet neither another's nor `skip` and `done`."""
        return [
            {"optionId": f"{prefix}:{option.id}", "name": self._name(option), "kind": "allow_once"}
            for option in options
        ]

    def _name(self, option: Option) -> str:
        label, about = self._spoken(option.label), self._spoken(option.description)
        return one_line(f"{label} - {about}" if about else label, _OPTION_LETTERS)

    def _outcome(self, answer: pending.Answer) -> Any:
        """The id in an answer."""
        if answer.lost:
            raise _Unanswered(_LOST)
        if answer.error is not None:
            raise _Unanswered(Answer("nobody", self._values, _error(answer)))
        outcome = answer.result.get("outcome") if isinstance(answer.result, dict) else None
        outcome = outcome if isinstance(outcome, dict) else {}
        if outcome.get("outcome") == "cancelled":
            raise _Unanswered(Answer("closed"))  # ends the turn (PERM-05)
        return outcome.get("optionId") if outcome.get("outcome") == "selected" else None


def _error(answer: pending.Answer) -> str:
    code = answer.error.get("code") if isinstance(answer.error, dict) else None
    return f"the client answered with an error ({code})"
