from __future__ import annotations

import subprocess
import sys

import pytest

from acpagent.config.settings import ModelSettings, ProviderSettings
from acpagent.providers import base
from tests.providers.calling import over_http, scripted


def test_what_a_provider_says_of_itself() -> None:
    provider = over_http("http://127.0.0.1:9/v1/", context_window=5, vision=True)
    assert (provider.name, provider.context_window, provider.sees_images) == ("local/tiny", 5, True)
    assert scripted("hello.yaml").name == "rehearsal/hello"


def test_an_unknown_api() -> None:
    with pytest.raises(ValueError, match="no provider speaks smoke-signals"):
        base.build(ProviderSettings("a", "smoke-signals"), ModelSettings("a", "b"))


def test_a_scripted_provider_needs_no_http_library() -> None:
    code = """if True:
        import sys
        from acpagent.config.settings import ModelSettings, ProviderSettings
        from acpagent.providers import base
        provider = ProviderSettings("a", "scripted", script="hello.yaml")
        base.build(provider, ModelSettings("a", "b"))
        assert "requests" not in sys.modules
        assert "urllib3" not in sys.modules
    """
    subprocess.run([sys.executable, "-c", code], check=True)
