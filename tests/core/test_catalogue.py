"""What acpagent says to people: every sentence in every language, filled alike."""

from __future__ import annotations

import ast
import re
import string

import pytest

from acpagent.core import catalogue
from acpagent.core.catalogue import LANGUAGES
from tests.repository.sources import ROOT, modules

CYRILLIC, HAN = re.compile(r"[а-яёА-ЯЁ]"), re.compile(r"[\u4e00-\u9fff]")
# Where the words of a language are looked for: not in code, nor in what is filled in.
UNSAID = re.compile(
    r"`[^`]*`|\{[^}]*\}|https?://\S*"
    r"|(?<![^\W_])[\w<>]*[._/=-][\w./:<>=-]*[\w/>](?=\W|$)"  # names of files, fields, options and variables
    r"|\b[A-Z][A-Z0-9]+\b"
)
# Words that only sentences have.
PROSE = {
    "the", "is", "are", "was", "be", "been", "has", "have", "of", "to", "with", "for", "it", "its", "that", "this",
    "these", "not", "from", "by", "at", "an", "as", "there", "which", "what", "who", "you", "your", "cannot", "must",
    "should", "will", "would", "can",
}  # fmt: skip
OTHERS = [language for language in LANGUAGES if language != catalogue.ENGLISH]
# Latin words that are the same in every language.
NAMES = {
    "acp", "acpagent", "budget", "cost", "create", "default", "export", "load", "none",
    "agent", "all", "approve", "ask", "auth", "auto", "clear", "close", "config", "confirm",
    "bench", "delete", "edit", "en", "eval", "history", "last", "rollback", "trace",
    "files", "forget", "full", "git", "goal", "id", "list", "login", "logout", "mcp", "new", "off",
    "ok", "on", "params", "plan", "promote", "reload", "repo", "restart", "resume", "revoke", "rm", "ru", "secret",
    "set", "show", "start", "status", "stop", "toggle", "token", "tokens", "unset", "yaml", "yolo", "zh",
}  # fmt: skip


def fields(text: str) -> set[tuple[str, str]]:
    return {(name, spec or "") for _, name, spec, _ in string.Formatter().parse(text) if name is not None}


def english() -> dict[str, str]:
    return dict(catalogue.sentences(catalogue.ENGLISH))


@pytest.mark.parametrize("language", OTHERS)
def test_every_language_has_every_sentence(language: str) -> None:
    spoken = catalogue.sentences(language)
    assert sorted(english().keys() - spoken.keys()) == []
    assert sorted(spoken.keys() - english().keys()) == []


@pytest.mark.parametrize("language", OTHERS)
def test_every_language_fills_in_the_same(language: str) -> None:
    spoken = catalogue.sentences(language)
    assert {code for code, text in english().items() if fields(text) != fields(spoken.get(code, text))} == set()
    for code in english():
        values = {name: 3 for name, _ in fields(spoken.get(code, ""))}
        said = catalogue.say(code, values, language).replace("${", "")
        assert "{" not in said or "{{" in spoken[code], code


def test_no_sentence_mixes_languages() -> None:
    """Names of things stay. In what a session says they are known ones, and nowhere is there an English sentence."""
    wrong = [text for text in english().values() if CYRILLIC.search(text) or HAN.search(text)]
    for language, foreign in (("ru", HAN), ("zh", CYRILLIC)):
        own = catalogue.part(language, "")
        for code, text in catalogue.sentences(language).items():
            latin = {word.lower() for word in re.findall(r"[A-Za-z]{2,}", UNSAID.sub("", text))}
            strange = latin - NAMES if code in own else latin & PROSE
            wrong += [text] if foreign.search(text) or strange else []
    assert wrong == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_counts_need_no_plural(language: str) -> None:
    """A number never decides the form of a word: no `(s)`, no noun right behind a count."""
    counts = r"\{(?:count|rounds|times|tools|prompts|entries|jobs|tokens)\}"
    ends = r"[a-z]" if language == "en" else r"[а-яё]"
    after = re.compile(rf"{counts} {ends}")
    allowed = {
        "goal_stalled",
        "sessions_ambiguous",
        "hook_gives_up",
        "session_context",
        "goal_round_tokens",
        "evidence_more",
        "count_matches_more",
        "proof_wanting",
        "setup_of",
    }
    if language == "en":  # a code of its own for one
        allowed |= {
            "count_entries",
            "count_matches",
            "title_plan",
            "title_ask_several",
            "title_answered_several",
            "question_count",
        }
        allowed |= {"show_before", "show_more", "trust_files", "setup_more", "setup_of", "listed_more", "and_more"}
        allowed |= {
            "check_dead_leases",
            "check_store",
            "trial_models",
            "proof_wanting",
            "check_leases",
            "title_edited_often",
            *(f"size_{what}" for what in ("bytes", "lines", "files", "directories")),
        }
    found = {code for code, text in catalogue.sentences(language).items() if after.search(text) or "(s)" in text}
    assert found - allowed == set()


def test_every_code_that_is_written_down_is_known() -> None:
    """Codes in the program are texts in the first places of `Notice`, `say` and `Refused`; those that are put together
    are tried where they are used."""
    unknown = set()
    for module in modules():
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Call) and (code := written_code(node)) and not catalogue.knows(code):
                unknown.add((module.name, code))
    assert unknown == set()


def written_code(call: ast.Call) -> str | None:
    name = getattr(call.func, "id", getattr(call.func, "attr", ""))
    place = {"Notice": 1, "Refused": 0, "Report": 0}.get(name)
    if (
        name == "say"
        and isinstance(call.func, ast.Attribute)
        and getattr(call.func.value, "id", "") in ("desk", "catalogue")
    ):
        place = 0
    if place is None or len(call.args) <= place:
        return None
    found = call.args[place]
    return found.value if isinstance(found, ast.Constant) and isinstance(found.value, str) else None


# What is raised with a sentence for people, or shows one.
TOLD = {
    "AgentEnded", "CommandFault", "ConfigProblem", "FailedTry", "Form", "NotApproved", "OurFault", "PluginError",
    "Problem", "ProviderFault", "RuleError", "ServerFault", "SidecarFault", "SpecError", "StoreFault", "Unchangeable",
    "UsageError", "complain", "fail", "line", "ok", "problem", "remark", "warn",
}  # fmt: skip
# A word, a blank and a word.
SENTENCE = re.compile(r"[A-Za-z]{2,}[,:;]? [A-Za-z]{2,}")
# Not for people: mistakes in scripts for the scripted model, and in what the protocol carries.
UNTRANSLATED = ("acpagent.providers.script_reader", "acpagent.wire.")
LABELS = {"mcp servers"}


def test_every_code_is_said_somewhere() -> None:
    """By its name, by a part of it that is put together with another, or in a schema."""
    written = {code for name in ("config", "plugin") for code in re.findall(r'"x-remedy": "(\w+)"', schema(name))}
    put_together = [r"(work_mode|tool_approval)_\w+"]  # by their names in `acp.v1.options`
    for module in modules():
        for node in ast.walk(module.tree) if "catalogues" not in module.name else ():
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                written.add(node.value)
            elif isinstance(node, ast.JoinedStr) and _is_part_of_a_code(_texts(node)):
                put_together.append("".join(_or_any(part) for part in node.values))
    assert {code for code in english() if not any(re.fullmatch(form, code) for form in put_together)} - written == set()


def _is_part_of_a_code(texts: list[str]) -> bool:
    return all(re.fullmatch(r"\w+", text) for text in texts) and any(len(text) > 3 for text in texts)


def schema(name: str) -> str:
    return (ROOT / "schemas" / f"{name}.json").read_text()


def _or_any(part: ast.expr) -> str:
    return re.escape(part.value) if isinstance(part, ast.Constant) and isinstance(part.value, str) else r"\w+"


def test_people_are_told_nothing_that_has_no_code() -> None:
    """Neither a text nor parts of one stand where a phrase belongs."""
    found = []
    for module in modules():
        for node in () if module.name.startswith(UNTRANSLATED) else ast.walk(module.tree):
            if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) in TOLD:
                texts = (part for given in node.args for part in _texts(given))
                found += [
                    (module.name, node.lineno, text) for text in texts if SENTENCE.search(text) and text not in LABELS
                ]
    assert found == []


def _texts(node: ast.expr) -> list[str]:
    """The texts that an argument is, or is put together of; not those that are arguments themselves."""
    if isinstance(node, ast.Constant):
        return [node.value] if isinstance(node.value, str) else []
    if isinstance(node, ast.JoinedStr):
        return [text for part in node.values if isinstance(part, ast.Constant) for text in _texts(part)]
    if isinstance(node, ast.IfExp):
        return [*_texts(node.body), *_texts(node.orelse)]
    if isinstance(node, ast.BinOp):
        return [*_texts(node.left), *_texts(node.right)]
    return []


def test_what_is_put_together_is_known() -> None:
    from acpagent.acp.v1 import options
    from acpagent.config import work_modes
    from acpagent.core.memory import KINDS
    from acpagent.runtime.commands.elsewhere import ELSEWHERE
    from acpagent.runtime.commands.table import CommandTable

    codes = [f"option_{option}" for option in options.IDS]
    for option, values in (
        ("mode", options.MODES),
        ("work_mode", work_modes.NAMES),
        ("tool_approval", options.APPROVALS),
    ):
        codes += [code for value in values for code in (f"{option}_{value}", f"{option}_{value}_about")]
    codes += [f"permission_{choice}" for choice in ("once", "session", "repo", "full", "deny")]
    codes += [f"permissions_{approval}" for approval in options.APPROVALS]
    codes += [f"memory_kind_{kind}" for kind in KINDS]
    codes += [f"memory_{standing}{more}" for standing in ("current", "changed", "gone") for more in ("", "_file")]
    codes += [f"level_{level}" for level in ("info", "warning", "error")]
    codes += [f"call_{what}" for what in ("exit_plan_mode", "start_goal", "once", "deny", "nobody", "cancelled")]
    codes += [f"config_key_{key}" for key in ("set", "missing", "unneeded")]
    codes += [f"trust_{status}" for status in ("nothing_to_trust", "untrusted", "trusted", "changed")]
    codes += [f"mcp_state_{state}" for state in ("stopped", "starting", "ready", "failed")]
    codes += ELSEWHERE.values()
    codes += [f"command_{command.name.replace('-', '_')}" for command in CommandTable().listed("en")]
    assert [code for code in codes if not catalogue.knows(code)] == []


def test_a_language_that_is_not_known_is_english() -> None:
    assert catalogue.say("goal_stopped", {}, "xx") == catalogue.say("goal_stopped", {})


def test_parameters_that_are_codes_are_said_in_the_same_language() -> None:
    said = catalogue.say("delivery_goes_on", {"missing": ["delivery_lacks_check", "delivery_lacks_plan"]}, "ru")
    assert "проверки" in said
    assert "критериев" in said
    with pytest.raises(KeyError):
        catalogue.say("no_such_code", {})
