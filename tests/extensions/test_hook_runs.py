"""Hooks that are run without a session around them."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from acpagent.core.scope import Cancelled, Scope
from acpagent.extensions import hookfiles, hookrun
from acpagent.extensions.happening import Happening
from acpagent.extensions.hookrun import Place
from acpagent.extensions.hooks import Hook, HookSet


def happening(event: str, cwd: Path) -> Happening:
    return Happening(event, "s", str(cwd), 1, tool="bash" if "Tool" in event else None)


def test_what_has_changed_since_it_was_trusted_does_not_run_and_a_guard_then_refuses(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    data = b'{"hooks": {"PreToolUse": [{"command": "touch ran"}], "PostToolUse": [{"command": "touch ran"}]}}'
    stands = [False]
    hooks = hookfiles.parse("/p/hooks.json", data, "project", stands=lambda: stands[0])
    for event in ("PreToolUse", "PostToolUse"):
        answer = hookrun.fire(hooks, happening(event, tmp_path), Place(str(tmp_path)), Scope())
        assert [notice.code for notice in answer.notices] == ["hook_changed"]
        assert (answer.refusal is not None) is (event == "PreToolUse")
    assert not mark.exists()
    stands[0] = True
    assert hookrun.fire(hooks, happening("PreToolUse", tmp_path), Place(str(tmp_path)), Scope()).refusal is None
    assert mark.exists()


def test_a_plugins_hook_finds_its_plugin(tmp_path: Path) -> None:
    command = 'echo "$CLAUDE_PLUGIN_ROOT" "$ACPAGENT_PLUGIN_ROOT" $HIDDEN'
    hooks = HookSet((Hook("SessionStart", command, root="/plugins/one", env={"HIDDEN": "set on purpose"}),))
    place = Place(str(tmp_path), frozenset({"HIDDEN"}))
    answer = hookrun.fire(hooks, happening("SessionStart", tmp_path), place, Scope())
    assert answer.context == "/plugins/one /plugins/one set on purpose"


def test_a_deadline_counts_for_all_together(tmp_path: Path) -> None:
    hooks = HookSet(tuple(Hook("SessionEnd", command) for command in ("sleep 20", "touch late")))
    began = time.monotonic()
    answer = hookrun.fire(hooks, happening("SessionEnd", tmp_path), Place(str(tmp_path)), Scope(), began + 0.3)
    assert time.monotonic() - began < 10
    assert [notice.code for notice in answer.notices] == ["hook_timed_out"]
    assert not (tmp_path / "late").exists()


def test_nothing_runs_in_a_scope_that_is_over(tmp_path: Path) -> None:
    scope = Scope()
    scope.cancel()
    with pytest.raises(Cancelled):
        hookrun.fire(HookSet((Hook("Stop", "touch x"),)), happening("Stop", tmp_path), Place(str(tmp_path)), scope)
    assert not (tmp_path / "x").exists()


def test_its_file_with_context_may_be_missing(tmp_path: Path) -> None:
    hooks = HookSet((Hook("SessionStart", "echo said", context_file="none.md"),))
    answer = hookrun.fire(hooks, happening("SessionStart", tmp_path), Place(str(tmp_path)), Scope())
    assert answer.context == "said"
    assert "none.md cannot be read" in answer.notices[0].params["cause"]


def test_a_hook_that_does_not_read_what_it_is_told(tmp_path: Path) -> None:
    what = Happening("UserPromptSubmit", "s", str(tmp_path), 1, prompt="x" * 5_000_000)
    answer = hookrun.fire(HookSet((Hook("UserPromptSubmit", "true"),)), what, Place(str(tmp_path)), Scope())
    assert answer.notices == ()
