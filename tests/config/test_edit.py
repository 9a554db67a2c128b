"""Values put into a YAML file, and everything else in it left alone."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from acpagent.config.edit import Unchangeable, merge, merged

ADDED = {"providers": {"new": {"api": "openai-chat", "models": {"m-1": {}}}}, "default_model": "new/m-1"}
PERSONS = """\
# Mine.
default_model: "old/tiny"   # the small one
providers:
  old:
    api: openai-chat        # a server of our own
    base_url: 'http://127.0.0.1:1/v1'
    models:
      tiny: {}              # quick

  # sketch:
  #   api: scripted

limits: {turn_requests: 7}  # enough
"""

FILES = {
    "empty": "",
    "comment": "# nothing yet\n",
    "null section": "providers:\n",
    "null section, comment": "---\nproviders:   # all of them\n...\n",
    "empty section": "providers: {}\ntool_approval: ask\n",
    "no line end": "tool_approval: ask",
    "the person's": PERSONS,
    "windows": PERSONS.replace("\n", "\r\n"),
    "json": json.dumps({"default_model": "old", "providers": {"old": {"api": "scripted"}}}),
    "json on lines": json.dumps({"default_model": "old", "providers": {"old": {"api": "scripted"}}}, indent=2),
    "flow": "providers: {old: {api: scripted}}\n",
    "nothing in flow": "{default_model: , providers: }",
    "wide": "providers:\n      old:\n            api: scripted\n",
    "flush lists": "providers:\n  old:\n    args:\n    - one\n    - two\n# end\n",
    "text block": "providers:\n  old:\n    note: |\n      some\n      words\n",
    "anchor": "providers: &all\n  old: {api: scripted}\n",
    "there already": "providers:\n  new:\n    api: scripted\n    models:\n      m-0: {}\n",
}


@pytest.mark.parametrize("text", FILES.values(), ids=FILES.keys())
def test_says_what_it_said_and_the_change(text: str) -> None:
    changed = merge(text, ADDED)
    assert yaml.safe_load(changed) == merged(yaml.safe_load(text), ADDED)
    assert ("\r\n" in changed) == ("\r\n" in text)
    assert changed.count("\n") - changed.count("\r\n") == (0 if "\r\n" in text else changed.count("\n"))
    assert merge(changed, ADDED) == changed


def test_leaves_everything_else_as_it_is() -> None:
    assert merge(PERSONS, ADDED).splitlines() == [
        "# Mine.",
        'default_model: "new/m-1"   # the small one',
        *PERSONS.splitlines()[2:8],
        "  new:",
        "    api: openai-chat",
        "    models:",
        "      m-1: {}",
        *PERSONS.splitlines()[8:],
    ]


def test_json_stays_json() -> None:
    for name in ("json", "json on lines"):
        assert json.loads(merge(FILES[name], ADDED))["default_model"] == "new/m-1"


REFUSED = {
    "list": "providers: [old]\n",
    "list as a whole": "- providers\n",
    "word": "providers: none\n",
    "used twice": "providers: &all\n  old: {api: scripted}\nother: *all\n",
    "alias": "all: &all {old: {}}\nproviders: *all\n",
    "model alias": "one: &one {}\nproviders:\n  new: *one\n",
    "question": "? providers\n: old: {}\n",
}


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_changed_safely_is_refused(text: str) -> None:
    with pytest.raises(Unchangeable):
        merge(text, ADDED)


names = st.sampled_from(["a", "b", "providers", "4.5", "yes", "x: y", "ä", "#1", "~"])
scalars = st.one_of(st.text("ab :#'\"{}[]-\nä", max_size=8), st.integers(0, 9), st.booleans())
values = st.recursive(scalars, lambda inner: st.dictionaries(names, inner, max_size=3), max_leaves=8)


@given(
    old=st.dictionaries(names, values, max_size=3), new=st.dictionaries(names, values, max_size=3), flow=st.booleans()
)
def test_any_file_says_what_it_said_and_the_change_or_is_refused(
    old: dict[str, Any], new: dict[str, Any], flow: bool
) -> None:
    text = yaml.safe_dump(old, default_flow_style=flow, allow_unicode=True, sort_keys=False)
    try:
        changed = merge(text, new)
    except Unchangeable:
        return
    assert yaml.safe_load(changed) == merged(old, new)
