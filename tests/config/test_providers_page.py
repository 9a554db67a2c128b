"""What the page on providers tells people to write is a good configuration, and what it says of names is true."""

from __future__ import annotations

import re

from acpagent.config import presets
from tests.config.home import Home
from tests.repository.sources import ROOT

PAGE = (ROOT / "docs" / "providers.md").read_text(encoding="utf-8")


def test_examples(home: Home) -> None:
    examples = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    first, second = (home.load(example) for example in examples)
    assert first.model().id == "anthropic/claude-sonnet-5-5"
    assert second.model().id == "pocket/small"


def test_the_table_of_known_providers() -> None:
    rows = re.findall(r"^\| `([\w.]+)` \| .* \| (?:`(\w+)`)? ?\| (known|list .*) \|$", PAGE, re.MULTILINE)
    assert {name: (key or None, models == "known") for name, key, models in rows} == {
        name: (preset.get("api_key_env"), "models" in preset) for name, preset in presets.load().items()
    }
