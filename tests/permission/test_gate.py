from __future__ import annotations

import pytest

from acpagent.core.toolcalls import Effect, Proposal
from tests.permission.world import ALL, DIRECTORY, KEPT, ONCE, World, judge


@pytest.fixture
def world(tmp_path):
    return World(tmp_path.resolve())


@pytest.mark.parametrize(
    ("approval", "kind", "target", "action", "choices"),
    [
        ("ask", "read", "src/a", "allow", ()),
        ("ask", "read", "../more/a", "allow", ()),
        ("ask", "write", "src/a", "ask", ALL),
        ("ask", "write", "../more/a", "ask", ALL),
        ("auto", "read", "src/a", "allow", ()),
        ("auto", "write", "src/a", "allow", ()),
        ("auto", "write", "new/dir/a", "allow", ()),
        ("yolo", "write", "src/a", "allow", ()),
        # outside the roots, by dots, by a link, below a link, as a new file
        ("ask", "read", "../out/file", "ask", ONCE),
        ("auto", "read", "link/file", "ask", ONCE),
        ("auto", "read", "link", "ask", DIRECTORY),
        ("auto", "write", "../out/file", "ask", ONCE),
        ("auto", "write", "link/file", "ask", ONCE),
        ("auto", "write", "link/new/file", "ask", ONCE),
        ("auto", "write", "../in-not/file", "ask", ONCE),
        ("yolo", "write", "link/file", "allow", ()),
        # what makes other programs run commands
        ("auto", "write", ".git/hooks/pre-commit", "ask", ONCE),
        ("auto", "write", "src/.acpagent/hooks.yaml", "ask", ONCE),
        ("auto", "write", ".gitignore", "allow", ()),
        ("auto", "read", ".git/config", "allow", ()),
        ("yolo", "write", ".git/config", "ask", ONCE),
    ],
)
def test_without_rules(world, approval, kind, target, action, choices):
    verdict = judge(world, world.gate(approval), kind, target)
    assert (verdict.action, verdict.choices) == (action, choices)
    assert bool(verdict.reason) == (action != "allow")
    assert bool(verdict.rule) == ("session" in choices)


@pytest.mark.parametrize("approval", ["ask", "auto", "yolo"])
def test_deny_rules_hold_in_every_mode(world, approval):
    gate = world.gate(approval, deny=("Edit(*.lock)", "Read(.env)"), allow=("Edit", "Read"))
    gate.grant_session("Edit(./a.lock)")
    for kind, target in (
        ("write", "src/a.lock"),
        ("write", "a.lock"),
        ("write", "../out/a.lock"),
        ("read", "src/.env"),
        ("read", "../out/.env"),
    ):
        verdict = judge(world, gate, kind, target)
        assert verdict.action == "deny", target
        assert "the rule" in verdict.reason


def test_deny_rules_hold_for_tools_they_do_not_name(world):
    gate = world.gate("yolo", deny=("Edit(*.lock)", "Bash", "mcp__x__y"))
    assert judge(world, gate, "write", "a.lock", tool="plugin_write").action == "deny"
    assert judge(world, gate, "execute", "ls", tool="plugin_run").action == "deny"
    assert gate.judge("mcp__x__y", Proposal("Call", "other", ())).action == "deny"
    assert gate.judge("mcp__x__z", Proposal("Call", "other", ())).action == "allow"


def test_a_link_does_not_lead_around_a_deny_rule(world):
    (world.base / "in" / ".env").write_text("")
    (world.base / "in" / "innocent").symlink_to(".env")
    assert judge(world, world.gate("yolo", deny=("Read(.env)",)), "read", "innocent").action == "deny"


def test_ask_beats_allow_and_offers_to_remember_the_very_path(world):
    gate = world.gate("auto", ask=("Edit(*.lock)",), allow=("Edit",))
    assert judge(world, gate, "write", "src/a").action == "allow"
    verdict = judge(world, gate, "write", "src/a.lock")
    assert (verdict.action, verdict.rule, verdict.choices) == ("ask", "Edit(./src/a.lock)", ALL)
    gate.grant_session("Edit")
    assert judge(world, gate, "write", "src/a.lock").action == "ask"
    gate.grant_session(verdict.rule)
    assert judge(world, gate, "write", "src/a.lock").action == "allow"
    assert judge(world, gate, "write", "src/b.lock").action == "ask"
    gate.approval = "yolo"
    assert judge(world, gate, "write", "src/b.lock").action == "allow"


def test_allow_rules(world):
    gate = world.gate(allow=("Edit(docs/**)", f"Edit({world.base}/out/**)", "Read"))
    assert judge(world, gate, "write", "docs/a").action == "allow"
    assert judge(world, gate, "write", "src/a").action == "ask"
    assert judge(world, gate, "write", "../out/a").action == "allow"
    # no pattern means the roots; and nothing allows what is protected
    assert judge(world, gate, "read", "../out/file").action == "ask"
    assert judge(world, world.gate(allow=("Edit", "Edit(**)")), "write", ".git/config").action == "ask"


def test_a_session_grant_is_for_edits_in_the_roots(world):
    gate = world.gate()
    verdict = judge(world, gate, "write", "src/a")
    assert verdict.rule == "Edit"
    gate.grant_session(verdict.rule)
    assert judge(world, gate, "write", "src/b", tool="write_file").action == "allow"
    assert judge(world, gate, "write", "../out/b").action == "ask"
    assert judge(world, gate, "write", ".git/config").action == "ask"
    assert judge(world, world.gate(), "write", "src/a").action == "ask"


def test_a_directory_outside_can_be_remembered(world):
    gate = world.gate()
    verdict = judge(world, gate, "read", "../out", tool="list_dir")
    assert verdict.rule == f"Read({world.base}/out)"
    gate.grant_session(verdict.rule)
    assert judge(world, gate, "read", "../out", tool="grep").action == "allow"
    assert judge(world, gate, "read", "link/file").action == "allow"
    assert judge(world, gate, "read", "..", tool="list_dir").action == "ask"
    assert judge(world, gate, "write", "../out/file").action == "ask"


def test_a_search_that_may_show_what_is_denied_is_asked_for(world):
    gate = world.gate("yolo", deny=("Read(secret/**)",))
    assert judge(world, gate, "read", "src", tool="grep").action == "allow"
    assert judge(world, gate, "read", ".", tool="glob").action == "allow"
    assert judge(world, gate, "read", "secret/x", tool="grep").action == "deny"
    verdict = judge(world, gate, "read", ".", tool="grep")
    assert (verdict.action, verdict.rule, verdict.choices) == ("ask", f"Grep({world.base}/in)", KEPT)
    gate.grant_session(verdict.rule)
    assert judge(world, gate, "read", ".", tool="grep").action == "allow"


def test_what_changes_a_directory_with_all_in_it_may_change_what_is_denied(world):
    gate = world.gate("yolo", deny=("Edit(docs/made/**)", "Read(secret/**)"))

    def judged(kind, target):
        effect = Effect(kind, world.roots.resolve(target), below=True)
        return gate.judge("move_file", Proposal("Move", "move", (effect,)))

    assert judged("write", "src").action == "allow"
    assert judged("write", "docs/made/x").action == "deny"
    verdict = judged("write", "docs")
    assert (verdict.action, verdict.reason) == ("ask", "it may change what the rule Edit(docs/made/**) forbids")
    assert judged("write", ".").action == "ask"
    assert judged("write", "secret").action == "allow"
    assert judged("read", ".").action == "ask"


def test_to_let_edit_is_not_to_let_delete(world):
    gate = world.gate(allow=("Edit",))
    assert judge(world, gate, "write", "a", tool="move_file").action == "allow"
    verdict = judge(world, gate, "write", "a", tool="delete_file")
    assert (verdict.action, verdict.rule, verdict.choices) == ("ask", "Delete", ALL)
    gate.grant_session("Delete")
    assert judge(world, gate, "write", "a", tool="delete_file").action == "allow"
    assert judge(world, gate, "write", ".git/config", tool="delete_file").action == "ask"
    assert judge(world, world.gate("auto"), "write", "a", tool="delete_file").action == "allow"
    assert judge(world, world.gate("yolo", deny=("Edit(a)",)), "write", "a", tool="delete_file").action == "deny"
    asked = judge(world, world.gate("auto", ask=("Delete",)), "write", "a", tool="delete_file")
    assert (asked.action, asked.rule) == ("ask", "Delete(./a)")


def fetch(gate, host):
    return gate.judge("web_fetch", Proposal("Fetch", "fetch", (Effect("network", host=host),)))


@pytest.mark.parametrize("approval", ["ask", "auto"])
def test_hosts(world, approval):
    gate = world.gate(approval, allow=("Fetch(domain:example.org)",), deny=("Fetch(domain:bad.example.org)",))
    assert fetch(gate, "example.org").action == "allow"
    assert fetch(gate, "docs.example.org").action == "allow"
    assert fetch(gate, "bad.example.org").action == "deny"
    assert fetch(gate, "very.bad.example.org").action == "deny"
    verdict = fetch(gate, "notexample.org")
    assert (verdict.action, verdict.rule, verdict.choices) == ("ask", "Fetch(domain:notexample.org)", ALL)
    gate.grant_session(verdict.rule)
    assert fetch(gate, "notexample.org").action == "allow"
    assert fetch(gate, "other.org").action == "ask"
    assert fetch(world.gate(approval, allow=("Fetch",)), "other.org").action == "allow"
    assert fetch(world.gate(approval, allow=("Fetch",), ask=("Fetch(domain:org)",)), "other.org").action == "ask"


def test_rules_about_fetching_are_not_about_other_tools(world):
    gate = world.gate("yolo", deny=("Fetch",))
    assert fetch(gate, "example.org").action == "deny"
    assert gate.judge("mcp__x__y", Proposal("Call", "other", ())).action == "allow"


@pytest.mark.parametrize(
    ("effects", "approval", "action", "choices"),
    [
        ((Effect("plan"),), "ask", "allow", ()),
        ((Effect("job"),), "ask", "allow", ()),
        ((Effect("network"),), "auto", "ask", ALL),
        ((Effect("network"),), "yolo", "allow", ()),
        ((), "auto", "ask", ALL),
        ((Effect("read"),), "auto", "ask", ONCE),
        ((Effect("write"),), "auto", "ask", ONCE),
        ((Effect("question"),), "ask", "allow", ()),
        ((Effect("end_job"),), "ask", "allow", ()),
        ((Effect("plan"), Effect("network")), "auto", "ask", ALL),
        ((Effect("execute"),), "yolo", "allow", ()),
        ((Effect("execute"),), "auto", "ask", ONCE),
        (
            (Effect("network"), Effect("network", host="x.org")),
            "ask",
            "ask",
            ("deny", "once", "full"),
        ),
    ],
)
def test_other_effects(world, effects, approval, action, choices):
    verdict = world.gate(approval).judge("mcp__x__y", Proposal("Do it", "other", effects))
    assert (verdict.action, verdict.choices) == (action, choices)


def test_a_tool_that_reaches_out_can_be_remembered_by_name(world):
    gate = world.gate()
    verdict = gate.judge("mcp__x__y", Proposal("Call", "other", ()))
    gate.grant_session(verdict.rule)
    assert gate.judge("mcp__x__y", Proposal("Call", "other", ())).action == "allow"
    assert gate.judge("mcp__x__z", Proposal("Call", "other", ())).action == "ask"
    assert world.gate(allow=("mcp__x__y",)).judge("mcp__x__y", Proposal("Call", "other", ())).action == "allow"


@pytest.mark.parametrize("effects", [(), (Effect("network"),), (Effect("job"),)])
def test_rules_about_all_tools_of_a_server(world, effects):
    def judged(gate, tool):
        return gate.judge(tool, Proposal("Call", "other", effects)).action

    denied = world.gate("yolo", deny=("mcp__x",), allow=("mcp__x__y",))
    assert [judged(denied, tool) for tool in ("mcp__x__y", "mcp__x__z", "mcp__xx__y")] == ["deny", "deny", "allow"]
    asked = world.gate(ask=("mcp__x__drop_*",), allow=("mcp__x", "plugin__p"))
    tools = ("mcp__x__get", "mcp__x__drop_all", "plugin__p__q")
    assert [judged(asked, tool) for tool in tools] == ["allow", "ask", "allow"]
    none = world.gate("yolo", deny=("mcp__*", "plugin__*"))
    assert [judged(none, tool) for tool in ("mcp__a__b", "plugin__a__b")] == ["deny", "deny"]


def test_a_name_that_cannot_be_judged_by_eye_is_not_remembered(world):
    gate = world.gate(ask=("Edit",))
    verdict = judge(world, gate, "write", "a\nb")
    assert (verdict.rule, verdict.choices) == ("", ("deny", "once", "full"))


def test_a_rule_that_is_not_understood_is_an_error(world):
    with pytest.raises(ValueError, match="a bracket that is not closed"):
        world.gate(deny=("Bash(",))


def test_sessions_do_not_share_what_was_granted(world):
    one, other = world.gate(), world.gate()
    one.grant_session("Edit")
    one.approval = "auto"
    assert other.approval == "ask"
    assert judge(world, other, "write", "src/a").action == "ask"
