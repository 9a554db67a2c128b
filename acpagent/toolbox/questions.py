"""ask_user and ask: the model asks the person. A session has one of them, by what its client can show."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from acpagent.core import bounds
from acpagent.core.blocks import Text
from acpagent.core.catalogue import Phrase
from acpagent.core.forms import Answer, Field, Form, Option
from acpagent.core.phrases import joined, titled
from acpagent.core.toolcalls import Effect, Kind, Proposal, ToolContext, ToolRefusal, ToolResult
from acpagent.toolbox.arguments import FLAG, STRING, Schema, closed, described

QUESTION_CHARACTERS = 500
LABEL_CHARACTERS = 120
DESCRIPTION_CHARACTERS = 300
OTHER_CHARACTERS = 4000
FEWEST_OPTIONS, MOST_OPTIONS = 2, 5
OTHER = Option("other", Phrase("question_other"))

_TITLE_CHARACTERS = 120
_ID = re.compile(r"[a-z][a-z0-9_-]{0,63}", re.IGNORECASE)
_NO_SECRETS = "Never ask for passwords, keys or other secrets."
_WHEN = "Only for what the files cannot tell you and what you must not decide alone."


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """What came instead of an answer: its name in the structured outcome, what the person and what the model reads."""

    status: str
    shown: str
    told: str


_GO_ON = "Do not ask the same again. Go on with what you know, or say what you need."
_NO_ANSWERS: Mapping[str, NoAnswer] = {
    "decline": NoAnswer("declined", Phrase("question_declined"), f"The person declined to answer. {_GO_ON}"),
    "cancel": NoAnswer(
        "cancelled", Phrase("question_dismissed"), f"The person dismissed the question without an answer. {_GO_ON}"
    ),
    "nobody": NoAnswer(
        "unavailable",
        Phrase("question_unanswered"),
        "There is no usable answer: {reason}. Take it that nobody is there. Do not ask again in this turn: state the "
        "assumption that you make, and take the safest way, one that can be undone.",
    ),
}
_SKIPPED = NoAnswer("answered", Phrase("question_skipped"), "User skipped this question")


@dataclass(frozen=True, slots=True)
class Question:
    """One question with its options; `key` marks its fields in the form. `named`: the model knows the options by id."""

    key: str
    text: str
    header: str
    options: tuple[Option, ...]
    several: bool
    other: bool
    named: bool

    def fields(self, alone: bool) -> list[Field]:
        """A form with one question has the question as its message."""
        hint = Phrase("question_choose_any" if self.several else "question_choose_one")
        title, about = (hint, self.header) if alone else (self.text, self.header or hint)
        offered = (*self.options, OTHER) if self.other else self.options
        kind: Any = "multi" if self.several else "choice"
        fields = [Field(f"choice{self.key}", kind, title, about, offered, required=not self.several)]
        if self.other:
            about = Phrase("question_other_when")
            other = Field(
                f"other{self.key}",
                "text",
                Phrase("question_other_details"),
                about,
                required=False,
                most=OTHER_CHARACTERS,
            )
            fields.append(other)
        return fields

    def answered(self, answer: Answer) -> Given | None:
        """What the person said to it, if they did."""
        value = answer.values.get(f"choice{self.key}")
        if value is None:
            return None
        ids = value if isinstance(value, tuple) else (value,)
        words = answer.values.get(f"other{self.key}", "") if OTHER.id in ids and self.other else ""
        offered = (*self.options, OTHER) if self.other else self.options
        return Given(tuple(option for option in offered if option.id in ids), bounds.clean(str(words)).strip())


@dataclass(frozen=True, slots=True)
class Given:
    """What was chosen, and the person's own words with `other`."""

    options: tuple[Option, ...]
    words: str

    def shown(self) -> str:
        """For the person."""
        labels = joined("listed", [option.label for option in self.options]) or Phrase("question_none")
        return Phrase("question_written", labels=labels, words=self.words) if self.words else labels

    def told(self, named: bool) -> str:
        """For the model."""
        if not self.options:
            return "User selected none of them"
        labels = ", ".join(f"{option.label} ({option.id})" if named else option.label for option in self.options)
        return f"User selected: {labels}" + (f"\nUser wrote: {self.words}" if self.words else "")


class _Asking:
    """What both tools have in common."""

    reads_only = False  # so that nothing else runs while the person thinks
    converses = True
    kind: Kind = "other"

    def apply(self, proposal: Proposal, ctx: ToolContext) -> ToolResult:
        questions: tuple[Question, ...] = proposal.detail
        alone = len(questions) == 1
        message = questions[0].text if alone else Phrase("question_count", count=len(questions))
        fields = [field for question in questions for field in question.fields(alone)]
        ctx.scope.check()
        if ctx.question is None:
            return _result(questions, Answer("nobody", reason="questions cannot be shown here"))
        return _result(questions, ctx.question(Form(message, tuple(fields))))


class AskUser(_Asking):
    """For clients that show forms."""

    name = "ask_user"
    description = (
        f"Ask the person one to four questions, and wait. {_WHEN} Give question and options (2 to 5), or several in "
        f"questions. With allowOther they can answer in their own words. {_NO_SECRETS}"
    )
    _single: Mapping[str, Schema] = {
        "question": STRING,
        "options": {
            "type": "array",
            "items": closed(
                {"id": described(STRING, "a short word"), "label": STRING, "description": STRING}, "id", "label"
            ),
        },
        "allowOther": FLAG,
        "multiSelect": FLAG,
    }
    schema: Schema = closed(
        {**_single, "questions": {"type": "array", "items": closed(_single, "question", "options")}}
    )
    most = 4

    def prepare(self, args: Mapping[str, Any], ctx: ToolContext) -> Proposal:
        listed = list(args.get("questions", ()))
        single = {key: value for key, value in args.items() if key != "questions"}
        if listed and single:
            raise ToolRefusal("Give either question and options, or questions.")
        if not listed and not {"question", "options"} <= single.keys():
            raise ToolRefusal("question and options are missing, or several of them in questions.")
        listed = listed or [single]
        _check_count(listed, self.most)
        keys = [""] if len(listed) == 1 else [f"_{number}" for number in range(1, len(listed) + 1)]
        return _proposal(tuple(_form_question(key, item) for key, item in zip(keys, listed, strict=True)))


class Ask(_Asking):
    """For clients that show permission requests only."""

    name = "ask"
    description = (
        f"Ask the person one to three questions, each with 2 to 5 options, and wait. They may skip one. {_WHEN} "
        f"{_NO_SECRETS}"
    )
    schema: Schema = closed(
        {
            "questions": {
                "type": "array",
                "items": closed(
                    {
                        "header": described(STRING, "a word or two"),
                        "question": STRING,
                        "options": {
                            "type": "array",
                            "items": closed({"label": STRING, "description": STRING}, "label"),
                        },
                        "multiSelect": FLAG,
                    },
                    "header",
                    "question",
                    "options",
                ),
            }
        },
        "questions",
    )
    most = 3

    def prepare(self, args: Mapping[str, Any], ctx: ToolContext) -> Proposal:
        _check_count(args["questions"], self.most)
        return _proposal(
            tuple(
                Question(
                    f"_{number}",
                    _line("question", item["question"], QUESTION_CHARACTERS),
                    _line("header", item["header"], LABEL_CHARACTERS),
                    _options(item["options"]),
                    several=item.get("multiSelect", False),
                    other=False,
                    named=False,
                )
                for number, item in enumerate(args["questions"], 1)
            )
        )


def _form_question(key: str, item: Mapping[str, Any]) -> Question:
    other = item.get("allowOther", False)
    options = _options(item["options"])
    ids = [option.id for option in options]
    if len(set(ids)) != len(ids) or not all(map(_ID.fullmatch, ids)):
        raise ToolRefusal("The ids of options must differ; each is a letter, then letters, digits, - and _.")
    if other and OTHER.id in ids:
        raise ToolRefusal("allowOther adds an option with the id other; leave out yours.")
    text = _line("question", item["question"], QUESTION_CHARACTERS)
    return Question(key, text, "", options, item.get("multiSelect", False), other, named=True)


def _options(items: Sequence[Mapping[str, Any]]) -> tuple[Option, ...]:
    if not FEWEST_OPTIONS <= len(items) <= MOST_OPTIONS:
        raise ToolRefusal(f"A question has {FEWEST_OPTIONS} to {MOST_OPTIONS} options.")
    return tuple(
        Option(
            item.get("id", str(number)),
            _line("label", item["label"], LABEL_CHARACTERS),
            _line("description", item.get("description", ""), DESCRIPTION_CHARACTERS, least=0),
        )
        for number, item in enumerate(items, 1)
    )


def _check_count(items: Sequence[Any], most: int) -> None:
    if not 1 <= len(items) <= most:
        raise ToolRefusal(f"questions takes 1 to {most} of them.")


def _line(name: str, text: str, most: int, least: int = 1) -> str:
    line = bounds.one_line(text, len(text) + 1)
    if not least <= len(line) <= most:
        raise ToolRefusal(f"A {name} must have {least} to {most} characters.")
    return line


def _proposal(questions: tuple[Question, ...]) -> Proposal:
    lines = [
        f"{question.text}\n\n" + "\n".join(f"- {_offered(option)}" for option in question.options)
        for question in questions
    ]
    title = Phrase("title_ask_several", count=len(questions))
    if len(questions) == 1:
        title = titled("title_ask", _TITLE_CHARACTERS, questions[0].text)
    return Proposal(title, "other", (Effect("question"),), detail=questions, note="\n\n".join(lines))


def _offered(option: Option) -> str:
    return f"{option.label}: {option.description}" if option.description else option.label


def _result(questions: tuple[Question, ...], answer: Answer) -> ToolResult:
    """The answer in words for the model, readable for the person, and structured."""
    none = _NO_ANSWERS.get(answer.kind, _SKIPPED)
    given = [(question, question.answered(answer)) for question in questions]
    shown = [one.shown() if one else none.shown for _, one in given]
    content = [
        Phrase("question_answer", text=question.text, answer=words)
        for question, words in zip(questions, shown, strict=True)
    ]
    return ToolResult(
        _told(given, none, answer.reason),
        content=(Text(joined("paragraphs", content)),),
        raw={"status": none.status, "answers": [_structured(*pair) for pair in given]},
        title=_title(questions, joined("listed_apart", shown)),
    )


def _title(questions: tuple[Question, ...], answer: str) -> Phrase:
    """The answer is cut where it is in words, and stays whole where it is only labels of ours."""
    what = bounds.one_line(questions[0].text, _TITLE_CHARACTERS // 2)
    cut = answer if len(answer) <= _TITLE_CHARACTERS // 2 else bounds.one_line(answer, _TITLE_CHARACTERS // 2)
    if len(questions) == 1:
        return Phrase("title_answered", what=what, answer=cut)
    return Phrase("title_answered_several", count=len(questions), answer=cut)


def _told(given: Sequence[tuple[Question, Given | None]], none: NoAnswer, reason: str) -> str:
    """For the model: each answer below its question, if there are several; and why there is no further one."""
    rest = none.told.format(reason=reason)
    if none is _SKIPPED:
        words = [(question, one.told(question.named) if one else rest) for question, one in given]
    else:
        words = [(question, one.told(question.named)) for question, one in given if one]
    if len(given) == 1 and words:
        return words[0][1]
    told = [f"{question.text}\n{answer}" for question, answer in words]
    return "\n\n".join(told if none is _SKIPPED else [*told, rest])


def _structured(question: Question, given: Given | None) -> dict[str, Any]:
    chosen = None if given is None else [{"id": one.id, "label": one.label} for one in given.options]
    structured = {"question": question.text, "selected": chosen}
    return structured | ({"other": given.words} if given and given.words else {})
