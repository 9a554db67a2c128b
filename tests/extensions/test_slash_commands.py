"""/project-trust and /skill: what they answer, and what they leave on the disk."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from acpagent.core import catalogue
from acpagent.extensions import revisions, trust
from acpagent.extensions.discovery import Extensions
from acpagent.runtime.commands import project_trust, skill_cases
from acpagent.runtime.commands import skill as skill_command
from acpagent.runtime.commands.arguments import Refused
from acpagent.runtime.session.services import CommandDesk
from tests.extensions.world import PluginAt, Shelf, World, skill


@dataclass
class Desk:
    world: World
    reloads: list[bool] = field(default_factory=list)
    set_aside: set[str] = field(default_factory=set)
    language: str = "en"

    language = catalogue.ENGLISH

    def say(self, code: str, **params: Any) -> str:
        return catalogue.say(code, params)

    @property
    def extensions(self) -> Extensions:
        plugin = PluginAt("p", str(self.world.base / "plugin"), [str(self.world.base / "plugin/skills")])
        return self.world.discover(plugins=[plugin])

    @property
    def cwd(self) -> str:
        return str(self.world.root)

    @property
    def home(self) -> str:
        return str(self.world.home)

    @property
    def approvals(self) -> Shelf:
        return self.world.shelf

    @property
    def reload(self) -> Callable[[], None]:
        return lambda: self.reloads.append(True)


@pytest.fixture
def desk(world: World) -> Desk:
    return Desk(world)


def said(desk: Desk, words: str) -> str:
    return skill_command.answer(words, desk)


def trusted(desk: Desk, words: str = "") -> str:
    return project_trust.answer(words, desk)


def test_trust_is_shown_before_it_is_given(desk: Desk) -> None:
    assert "brings nothing" in trusted(desk)
    assert "brings nothing" in trusted(desk, "approve")
    desk.world.write("project/.mcp.json", {"mcpServers": {"a": {"command": "run-`me`"}}})
    shown = trusted(desk, "approve")
    prefix = trust.short(desk.world.scan())
    assert "`` .mcp.json: a starts a server: run-`me` ``" in shown
    assert shown.endswith(f"`/project-trust approve {prefix}`")
    assert desk.world.shelf.kept == {}
    desk.world.write("project/.mcp.json", {"mcpServers": {"a": {"command": "evil"}}})
    assert "look at it again" in trusted(desk, f"approve {prefix}")
    assert (desk.world.shelf.kept, desk.reloads) == ({}, [])
    prefix = trust.short(desk.world.scan())
    assert "is **trusted**" in trusted(desk, f"approve {prefix}")
    assert desk.reloads == [True]
    assert "is **trusted**" in trusted(desk, "approve")
    desk.world.write("project/.mcp.json", "{}")
    assert "Not as it was approved:\n\n- `.mcp.json`" in trusted(desk, "status")
    assert "no more" in trusted(desk, "revoke")
    assert "**not trusted**" in trusted(desk)


@pytest.mark.parametrize("words", ["dance", "status now", "revoke all of it", "approve a b"])
def test_trust_explains_itself(desk: Desk, words: str) -> None:
    with pytest.raises(Refused) as refused:
        trusted(desk, words)
    assert (refused.value.code, refused.value.params) == ("trust_unknown", {"words": words})


def test_what_cannot_be_trusted_says_why(desk: Desk) -> None:
    desk.world.write("secret", "x")
    (desk.world.root / ".mcp.json").symlink_to("../secret")
    for words in ("status", "approve", "approve 0123456789abcdef"):
        assert "cannot be trusted at all: .mcp.json is a link that leads out" in trusted(desk, words)


def test_the_list(desk: Desk) -> None:
    assert said(desk, "") == "**Skills**\n\n- none"
    desk.world.write("person/config/skills/a/SKILL.md", skill("a", "Does a.", disable_model_invocation="true"))
    desk.world.write("plugin/skills/b.md", skill("b", "Does b.", colour="red"))
    desk.world.write("person/config/skills/c/SKILL.md", "broken")
    desk.world.write("project/.claude/skills/d.md", skill("d"))
    text = said(desk, "list")
    assert "- `a` (user): Does a.\n- `b` (plugin p): Does b." in text
    assert "Remarks: 2;" in text
    assert "/project-trust approve" in text
    assert "- `a`" in said(desk, "list --disabled")
    assert "- `b`" not in said(desk, "list --disabled")
    invalid = said(desk, "list --invalid")
    assert "skills/c/SKILL.md: description: is missing" in invalid
    assert "(used all the same)" in invalid
    assert "takes `--invalid`" in said(desk, "list --all")


def test_showing_one(desk: Desk) -> None:
    desk.world.write("person/config/skills/a/SKILL.md", skill("a", "Does a.", "```\nx\n```", license="MIT"))
    desk.world.write("person/config/skills/a/run.py", "")
    text = said(desk, "show a")
    assert "license: MIT" in text
    assert "beside it: run.py" in text
    assert "````markdown\n```\nx\n```\n````" in text
    assert "There is no skill `b`. There are: `a`" in said(desk, "show b")


def test_a_new_one_is_there_at_once(desk: Desk) -> None:
    assert "Wrote" in said(desk, 'new fix-it Fix "it": all\nof it.')
    one = desk.extensions.skill("fix-it")
    assert one is not None
    assert (one.description, one.body, one.scope) == ('Fix "it": all', 'Fix "it": all\nof it.', "user")
    assert desk.extensions.problems == ()
    assert desk.reloads == [True]
    assert "there already" in said(desk, "new fix-it")
    assert "Wrote" in said(desk, "new bare")
    assert desk.extensions.skill("bare") is not None


@pytest.mark.parametrize("name", ["", "../x", "A", "a b", "a--b", "x" * 65, "a/b", ".x"])
def test_names_that_no_skill_has(desk: Desk, name: str) -> None:
    answer = said(desk, f"new {name}")
    if name == "a b":
        assert "Wrote" in answer
    else:
        assert "small letters" in answer
        assert not os.path.exists(desk.world.home / "skills")


def test_promoting_to_a_project_keeps_its_trust(desk: Desk) -> None:
    said(desk, "new one Do it.")
    desk.world.write("person/config/skills/one/scripts/run.sh", "true")
    assert said(desk, "promote one").endswith(".acpagent/skills/one`.")
    assert (desk.world.root / ".acpagent/skills/one/scripts/run.sh").exists()
    assert desk.world.standing().status == "trusted"
    found = desk.extensions.skill("one")
    assert found is not None
    assert found.scope == "project"
    assert "there already" in said(desk, "promote one")
    said(desk, "new two Do it.")
    desk.world.write("project/.mcp.json", "{}")
    assert "/project-trust" in said(desk, "promote two")
    assert desk.world.standing().status == "changed"


def test_promoting_to_oneself(desk: Desk) -> None:
    desk.world.write("project/.claude/skills/a/SKILL.md", skill("a"))
    desk.world.approve()
    assert "Copied" in said(desk, "promote a --scope=user")
    assert (desk.world.home / "skills/a/SKILL.md").read_text() == skill("a")
    assert "there already" in said(desk, "promote a --scope=user")
    assert "takes `--scope" in said(desk, "promote a --scope=world")
    assert desk.world.standing().status == "trusted"


def test_promoting_never_leaves_the_project(desk: Desk) -> None:
    said(desk, "new one Do it.")
    (desk.world.base / "outside").mkdir()
    (desk.world.root / ".acpagent").symlink_to("../outside")
    assert "leads out" in said(desk, "promote one")
    assert list((desk.world.base / "outside").iterdir()) == []


def test_removing(desk: Desk) -> None:
    said(desk, "new one Do it.")
    said(desk, "promote one")
    assert "rm one --confirm" in said(desk, "rm one")
    assert "Removed" in said(desk, "rm one --confirm")
    assert not (desk.world.root / ".acpagent/skills/one").exists()
    assert desk.world.standing().status == "nothing_to_trust"
    assert "Removed" in said(desk, "rm --confirm one")
    assert desk.extensions.skills == ()
    desk.world.write("person/.claude/skills/other.md", skill("other"))
    assert "remove it where it is" in said(desk, "rm other --confirm")
    assert (desk.world.person / ".claude/skills/other.md").exists()


def test_removing_a_link_keeps_what_it_leads_to(desk: Desk) -> None:
    desk.world.write("person/.agents/skills/a/SKILL.md", skill("a"))
    (desk.world.home / "skills").mkdir()
    (desk.world.home / "skills/a").symlink_to(desk.world.person / ".agents/skills/a")
    assert "Removed" in said(desk, "rm a --confirm")
    assert (desk.world.person / ".agents/skills/a/SKILL.md").exists()


def test_what_there_is_not(desk: Desk) -> None:
    assert said(desk, "dance").startswith("There is no `/skill dance`")
    assert "no skill" in said(desk, "rm nothing --confirm")


def test_another_text_below_the_same_head(desk: Desk) -> None:
    path = desk.world.write("person/config/skills/a/SKILL.md", skill("a", "Does a.", "Old.", license="MIT"))
    assert "edit it there" in said(desk, "edit a")
    path.write_text(skill("a", "Does a.", "By hand.", license="MIT"))
    said(desk, 'edit a "New: $ARGUMENTS"')
    assert path.read_text() == "---\nname: a\ndescription: Does a.\nlicense: MIT\n---\n\nNew: $ARGUMENTS\n"
    told = said(desk, "history a")
    assert told.count("was there before a change") == 2
    assert "written by `edit` (what is there now)" in told
    said(desk, "rollback a 2")
    assert "By hand." in path.read_text()
    assert "as in revision 2 already" in said(desk, "rollback a 2")
    assert "There are: 1, 2, 3, 4." in said(desk, "rollback a 9")
    assert "Name a skill and a revision" in said(desk, "rollback a")
    assert not list((desk.world.home / "skills").rglob("*.json"))


def test_revisions_are_bounded_and_damaged_ones_never_come_back(desk: Desk) -> None:
    said(desk, "new a One.")
    for number in range(25):
        said(desk, f"edit a Text {number}.")
    told = said(desk, "history a")
    assert told.count("`edit`") == revisions.MOST
    assert "- 26. " in told
    (kept,) = (desk.world.home / "skill-history").iterdir()
    assert kept.stat().st_mode & 0o077 == 0
    kept.write_text(kept.read_text().replace('"data": "', '"data": "AAAA'))
    assert "keeps no revision" in said(desk, "history a")
    kept.write_text("[")
    assert "keeps no revision" in said(desk, "history a")


def test_a_project_that_was_trusted_still_is_after_an_edit(desk: Desk) -> None:
    said(desk, "new one Do it.")
    said(desk, "promote one")
    path = desk.world.root / ".acpagent/skills/one/SKILL.md"
    first = path.read_bytes()
    assert said(desk, "edit one Otherwise.").endswith("`/skill history one`.")
    assert desk.world.standing().status == "trusted"
    said(desk, "rollback one 1")
    assert (path.read_bytes(), desk.world.standing().status) == (first, "trusted")
    path.write_text(skill("one", body="Evil."))
    assert "in revision 1 already" in said(desk, "rollback one 1")  # one's own, which is the one that counts now
    assert (path.read_text(), desk.world.standing().status) == (skill("one", body="Evil."), "changed")


def test_only_what_is_acpagents_own_is_written_and_never_through_a_link(desk: Desk) -> None:
    foreign = desk.world.write("person/.claude/skills/other.md", skill("other"))
    outside = desk.world.write("person/.agents/skills/far/SKILL.md", skill("far"))
    (desk.world.home / "skills").mkdir()
    (desk.world.home / "skills/far").symlink_to(outside.parent)
    for name, path in (("other", foreign), ("far", outside)):
        for words in (f"edit {name} New.", f"edit {name}", f"rollback {name} 1"):
            assert "change it where it is" in said(desk, words)
        assert path.read_text() == skill(name)
    for words in ("edit ../x New.", "rollback ../x 1", "history ../x", "rollback a/b 1", "edit nothing New."):
        assert "There is no skill" in said(desk, words)
    assert not (desk.world.home / "skill-history").exists()


def test_an_untrusted_skill_is_not_read(desk: Desk) -> None:
    desk.world.write("project/.acpagent/skills/a/SKILL.md", skill("a"))
    for words in ("edit a New.", "history a", "rollback a 1", "off a"):
        assert "There is no skill `a`" in said(desk, words)


def test_what_only_the_person_calls_up_need_not_be_put_off(desk: Desk) -> None:
    desk.world.write("person/config/skills/a/SKILL.md", skill("a", disable_model_invocation="true"))
    assert "only you do" in said(desk, "off a")
    assert desk.set_aside == set()


def test_cases_of_a_project_are_read_as_they_were_trusted(desk: Desk) -> None:
    desk.world.write("project/.acpagent/skills/a/SKILL.md", skill("a"))
    path = desk.world.write("project/.acpagent/skills/a/evals.yaml", "- {prompt: x, expect: y}")
    desk.world.approve()
    one = desk.extensions.skill("a")
    assert one is not None
    assert [case.prompt for case in skill_cases.read(one, cast(CommandDesk, desk))] == ["x"]
    path.write_text("- {prompt: evil, expect: y}")
    with pytest.raises(Refused, match="skill_stale"):
        skill_cases.read(one, cast(CommandDesk, desk))
