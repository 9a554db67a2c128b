"""Whether a `config.yaml` can be used: its schema first, then what a schema cannot say."""

from __future__ import annotations

import difflib
import os
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from acpagent.config import presets, selection, work_modes
from acpagent.config.problems import ConfigError
from acpagent.core import rules
from acpagent.core.catalogue import Phrase
from acpagent.wire.schema import check_document, load

if TYPE_CHECKING:
    from collections.abc import Iterator

    from acpagent.config.document import Document, Path
    from acpagent.config.problems import ConfigProblem

SCHEMA = "config.json"


def check(page: Document) -> dict[str, Any]:
    """The checked content, presets filled in. Raises `ConfigError` with every problem found."""
    schema = load(SCHEMA)
    written = _tidied(page.mapping(), schema)
    if isinstance(profile := written.get("profile"), str):
        written["profile"] = work_modes.named(profile) or profile
    if isinstance(written.get("providers"), dict):
        for name, body in written["providers"].items():
            if isinstance(body, dict):
                written["providers"][name] = presets.complete(name, body)
    problems = [
        page.problem(found.path, found.text, _remedy(schema, found.path)) for found in check_document(SCHEMA, written)
    ]
    problems = problems or list(_contradictions(page, written))
    if problems:
        raise ConfigError(*sorted(problems, key=lambda problem: problem.line or 0))
    return written


def _tidied(value: Any, schema: dict[str, Any]) -> Any:
    """What YAML reads otherwise than it is meant: a section whose lines are all commented out is empty, not
    null, and 100.0 where a whole number belongs is one."""
    kind = schema.get("type")
    if value is None and kind in ("object", "array"):
        return {} if kind == "object" else []
    if isinstance(value, float) and value.is_integer() and kind == "integer":
        return int(value)
    if isinstance(value, dict):
        return {key: _tidied(item, _below(schema, key)) for key, item in value.items()}
    return value


def _below(schema: dict[str, Any], key: str | int) -> dict[str, Any]:
    if isinstance(key, int):
        inner = schema.get("items")
    else:
        inner = schema.get("properties", {}).get(key, schema.get("additionalProperties"))
    return inner if isinstance(inner, dict) else {}


def _advice(schema: dict[str, Any], otherwise: str) -> str:
    """A schema names a phrase."""
    return Phrase(schema["x-remedy"]) if "x-remedy" in schema else otherwise


def _remedy(schema: dict[str, Any], path: Path) -> str:
    """What the schema advises at a place, or at the nearest place around it that says something."""
    remedy, around = "", schema
    for key in path:
        remedy = _advice(around, remedy)
        known = around.get("properties", {})
        if around.get("additionalProperties") is False and key not in known:
            close = difflib.get_close_matches(str(key), known, 1)
            return (
                Phrase("remedy_did_you_mean", name=close[0])
                if close
                else Phrase("remedy_known_here", names=", ".join(known))
            )
        if not re.search(around.get("propertyNames", {}).get("pattern", ""), str(key)):
            return remedy
        around = _below(around, key)
    if "properties" in around:
        remedy = Phrase("remedy_keys_below", names=", ".join(around["properties"]))
    return _advice(around, remedy)


def _contradictions(page: Document, written: dict[str, Any]) -> Iterator[ConfigProblem]:
    models: list[tuple[str, str]] = []
    for name, body in written.get("providers", {}).items():
        yield from _KINDS.get(body["api"], _http)(page, name, body)
        models += [(name, model) for model in body.get("models", {})]
        if not body.get("models") and (file := body.get("script") or body.get("model_file")):
            models.append((name, file_model(file)))
    if "default_model" in written:
        try:
            selection.select(models, written["default_model"])
        except selection.UnknownModel as unknown:
            yield page.problem(("default_model",), unknown.what, unknown.remedy)
    for name, body in written.get("mcp_servers", {}).items():
        yield from _mcp_server(page, name, body)
    for kind, texts in written.get("permissions", {}).items():
        yield from _rules(page, kind, texts)


def _rules(page: Document, kind: str, texts: list[str]) -> Iterator[ConfigProblem]:
    for place, text in enumerate(texts):
        try:
            rules.parse(text)
        except rules.RuleError as error:
            yield page.problem(
                ("permissions", kind, place), Phrase("what_rule", rule=text, what=error.what), error.remedy
            )


def file_model(path: str) -> str:
    """The name of the one model of a provider that is a file and lists none: the file's, without the ending."""
    return os.path.splitext(os.path.basename(path))[0]


def _scripted(page: Document, name: str, body: dict[str, Any]) -> Iterator[ConfigProblem]:
    here: Path = ("providers", name)
    if "script" not in body:
        yield page.problem(here, Phrase("what_no_script"), Phrase("remedy_script"))
    for key in (*_OF_HTTP, "retries", "model_file"):
        if key in body:
            yield page.problem((*here, key), Phrase("what_not_scripted"), Phrase("remedy_remove"))


def _llama_cpp(page: Document, name: str, body: dict[str, Any]) -> Iterator[ConfigProblem]:
    here: Path = ("providers", name)
    if "model_file" not in body:
        yield page.problem(here, Phrase("what_no_model_file"), Phrase("remedy_model_file"))
    for key in (*_OF_HTTP, "script"):
        if key in body:
            yield page.problem((*here, key), Phrase("what_not_in_file"), Phrase("remedy_remove"))
    if len(body.get("models", {})) > 1:
        yield page.problem((*here, "models"), Phrase("what_several_models"), Phrase("remedy_one_model"))


def _http(page: Document, name: str, body: dict[str, Any]) -> Iterator[ConfigProblem]:
    here: Path = ("providers", name)
    for key, api in (("script", "scripted"), ("model_file", "llama-cpp")):
        if key in body:
            yield page.problem((*here, key), Phrase("what_other_api", api=api), Phrase("remedy_change_api"))
    if "base_url" not in body:
        yield page.problem(here, Phrase("what_no_base_url"), Phrase("remedy_base_url"))
    elif not _is_address(body["base_url"]):
        remedy = Phrase("remedy_api_address")
        yield page.problem((*here, "base_url"), Phrase("what_no_api_address"), remedy)
    if not body.get("models"):
        place = (*here, "models") if "models" in body else here
        yield page.problem(place, Phrase("what_no_models"), Phrase("remedy_models"))
    for header, text in body.get("headers", {}).items():
        if not all(" " <= letter <= "~" for letter in header + text) or not header.strip():
            place = (*here, "headers", header)
            yield page.problem(place, Phrase("what_no_header"), Phrase("remedy_header"))


_KINDS = {"scripted": _scripted, "llama-cpp": _llama_cpp}
_OF_HTTP = ("base_url", "api_key_env", "headers", "timeouts")  # what means something to a server only


def _is_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        _ = parts.port  # raises for a port that is no number
    except ValueError:
        return False
    plain = all("!" <= letter <= "~" for letter in text)
    return plain and parts.scheme in ("http", "https") and bool(parts.hostname) and "@" not in parts.netloc


def _mcp_server(page: Document, name: str, body: dict[str, Any]) -> Iterator[ConfigProblem]:
    here: Path = ("mcp_servers", name)
    if ("command" in body) == ("url" in body):
        yield page.problem(here, Phrase("what_command_or_url"), Phrase("remedy_keep_needed"))
        return
    if "command" in body:
        main, kinds, strange = "command", ["stdio"], ["headers"]
    else:
        main, kinds, strange = "url", ["http", "sse"], ["args", "env"]
    if body.get("type", kinds[0]) not in kinds:
        yield page.problem(
            (*here, "type"),
            Phrase("what_does_not_fit", key=main),
            Phrase("remedy_write_kinds", kinds=" or ".join(kinds)),
        )
    for key in strange:
        if key in body:
            yield page.problem((*here, key), Phrase("what_nothing_with", key=main), Phrase("remedy_remove"))
