"""Names of tools are valid for every provider, distinct, and stable."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from acpagent.core.rules import parse
from acpagent.mcp_client import names

VALID = re.compile(r"mcp__[A-Za-z0-9_-]+")
TEXTS = st.lists(st.text(min_size=1, max_size=90), max_size=8)


def test_plain_names_stay() -> None:
    assert names.servers(["github", "my files"]) == {"github": "github", "my files": "my_files"}
    assert names.offered("github", ["get-issue", "a.b"]) == {
        "get-issue": "mcp__github__get-issue",
        "a.b": "mcp__github__a_b",
    }


def test_where_the_server_ends_is_clear() -> None:
    first, second = names.servers(["a__b", "a"]).values()
    assert (first, second) == ("a_b", "a")
    assert names.offered(first, ["c"])["c"] != names.offered(second, ["b__c"])["b__c"]


def test_a_name_that_fits_keeps_it() -> None:
    found = names.offered("s", ["a b", "a_b", "a.b"])
    assert found["a_b"] == "mcp__s__a_b"
    assert len(set(found.values())) == 3


@given(TEXTS, TEXTS)
def test_any_names(servers: list[str], tools: list[str]) -> None:
    slugs = names.servers(servers)
    found = [name for slug in slugs.values() for name in names.offered(slug, tools).values()]
    assert len(found) == len(set(found)) == len(set(servers)) * len(set(tools))
    for name in found:
        assert VALID.fullmatch(name)
        assert len(name) <= 64
        assert parse(name).covers(name)


@given(TEXTS, st.text(min_size=1, max_size=90))
def test_a_server_that_comes_later_changes_no_name(servers: list[str], later: str) -> None:
    before, after = names.servers(servers), names.servers([*servers, later])
    assert {name: after[name] for name in before} == before
