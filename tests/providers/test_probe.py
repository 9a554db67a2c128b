"""Trying a provider out: what a list and a short call tell, and that neither takes longer than it may."""

from __future__ import annotations

import socket
import time
import traceback

import pytest

from acpagent.config.credentials import Secret
from acpagent.config.settings import ModelSettings, ProviderSettings
from acpagent.core.model import ProviderFault
from acpagent.providers import probe
from tests.cli.catalogue import KEY, WRONG, Catalogue


def at(base_url: str, api: str = "openai-chat") -> ProviderSettings:
    return ProviderSettings("local", api, base_url)


def refused(base_url: str, key: str | None = None, seconds: float = 5) -> ProviderFault:
    with pytest.raises(ProviderFault) as caught:
        probe.list_models(at(base_url), Secret(key) if key else None, seconds)
    if key:
        assert key not in "".join(traceback.format_exception(caught.value))
    return caught.value


def names(listing: probe.Listing) -> list[str]:
    return [offer.name for offer in listing.offers]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (" http://a/v1/ ", "http://a/v1"),
        ("http://a/v1/chat/completions", "http://a/v1"),
        ("http://a/v1/models/", "http://a/v1"),
        ("https://a/v1/messages", "https://a/v1"),
        ("https://a", "https://a"),
    ],
)
def test_addresses_copied_with_a_method(written: str, meant: str) -> None:
    assert probe.tidy(written) == meant


def test_a_list_without_a_key() -> None:
    with Catalogue(("small", "large")) as server:
        listing = probe.list_models(at(server.base_url), None)
        assert names(listing) == ["small", "large"]
        assert not listing.proves_key


def test_a_key_that_is_right() -> None:
    with Catalogue(key=KEY) as server:
        assert probe.list_models(at(server.base_url), Secret(KEY)).proves_key


def test_a_list_for_anybody_proves_no_key() -> None:
    with Catalogue(key=KEY, public_list=True) as server:
        assert not probe.list_models(at(server.base_url), Secret(WRONG)).proves_key


@pytest.mark.parametrize("key", [None, WRONG])
def test_a_key_that_is_missing_or_wrong(key: str | None) -> None:
    with Catalogue(key=KEY) as server:
        assert refused(server.base_url, key).kind == "auth"


def test_the_usual_end_of_an_address_is_found() -> None:
    with Catalogue() as server:
        listing = probe.list_models(at(server.base_url.removesuffix("/v1")), None)
        assert (listing.base_url, len(listing.offers)) == (server.base_url, 3)
    with Catalogue(key=KEY) as server:
        assert refused(server.base_url.removesuffix("/v1")).kind == "auth"


def test_a_server_without_a_list() -> None:
    with Catalogue(None) as server:
        assert probe.list_models(at(server.base_url), None) == probe.Listing(server.base_url)


def test_some_other_web_server() -> None:
    with Catalogue(page=True) as server:
        fault = refused(server.base_url)
        assert fault.kind == "rejected"
        assert "does not answer like a model server" in fault.message


def test_nobody_there() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and does not listen
        fault = refused(f"http://127.0.0.1:{taken.getsockname()[1]}/v1")
    assert fault.kind == "unavailable"
    assert "takes no connections" in fault.message


def test_silence_is_bounded() -> None:
    with Catalogue(silent=True) as server:
        began = time.monotonic()
        fault = refused(server.base_url, KEY, seconds=0.3)
        assert time.monotonic() - began < 10
        assert fault.kind == "unavailable"


def test_a_stream_without_end_is_bounded() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        began = time.monotonic()
        fault = refused(f"http://127.0.0.1:{listening.getsockname()[1]}/v1", seconds=0.3)  # accepted, never read
        assert fault.kind == "unavailable"
        assert time.monotonic() - began < 10


def test_what_servers_tell_of_their_models() -> None:
    rows = [
        {"id": "a", "context_length": 32768, "architecture": {"input_modalities": ["text", "image"]}},
        {"id": "b", "max_model_len": 8192, "architecture": {"input_modalities": ["text"]}},
        {"id": "c", "meta": {"n_ctx_train": 4096}},
        {"id": "d", "context_length": "much"},
        {"id": "a"},
        {"id": 7},
        {"no": "id"},
        {"id": "\x1b[31mred"},
        "plain",
    ]
    with Catalogue(rows) as server:
        offers = probe.list_models(at(server.base_url), None).offers
    assert [(one.name, one.context_window, one.vision) for one in offers] == [
        ("a", 32768, True),
        ("b", 8192, False),
        ("c", 4096, None),
        ("d", None, None),
        ("plain", None, None),
    ]


class TestSpeaking:
    """A call of one token."""

    def speak(self, server: Catalogue, key: str | None = None) -> None:
        probe.speak(at(server.base_url), ModelSettings("local", "small"), Secret(key) if key else None, 5)

    def test_is_as_short_as_can_be(self) -> None:
        with Catalogue(key=KEY) as server:
            self.speak(server, KEY)
            (body,) = server.bodies
            assert (body["model"], body["max_tokens"]) == ("small", 1)

    @pytest.mark.parametrize(
        ("status", "kind"), [(401, "auth"), (402, "payment"), (404, "rejected"), (429, "rate"), (503, "unavailable")]
    )
    def test_fails_at_once(self, status: int, kind: str) -> None:
        with Catalogue(refusal=status) as server:
            with pytest.raises(ProviderFault) as caught:
                self.speak(server)
            assert caught.value.kind == kind
            assert len(server.bodies) == 1

    def test_is_bounded(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listening:
            provider = at(f"http://127.0.0.1:{listening.getsockname()[1]}/v1")
            began = time.monotonic()
            with pytest.raises(ProviderFault) as caught:
                probe.speak(provider, ModelSettings("local", "small"), None, 0.3)
            assert caught.value.kind == "unavailable"
            assert time.monotonic() - began < 10


def test_anthropic_style_servers_are_asked_their_way() -> None:
    with Catalogue(("claude",)) as server:
        for address in (server.base_url, server.base_url.removesuffix("/v1")):
            assert names(probe.list_models(at(address, "anthropic-messages"), Secret(KEY))) == ["claude"]
        assert {path for _, path in server.asked} == {"/v1/models"}
