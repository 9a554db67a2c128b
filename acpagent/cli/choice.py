"""What `acpagent setup` is to set up: a provider, its key, a model; and how that is written into config.yaml."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from acpagent.cli.agent import UsageError
from acpagent.cli.spoken import say
from acpagent.config import credentials, presets
from acpagent.config.check import file_model
from acpagent.config.credentials import Secret
from acpagent.config.settings import ModelSettings, ProviderSettings, Settings
from acpagent.providers.probe import Listing, tidy

_ADDRESS = re.compile(r"https?://[!-?A-~]+")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
# What is listed beside the models that chat.
_NO_CHAT = re.compile(
    r"embed|whisper|tts|dall-e|moderation|transcribe|rerank|realtime|-audio|-image|image-|sora|speech|stable-diffusion"
    r"|(^|/)(babbage|davinci|bge-|veo|imagen|lyria|flux)",
    re.IGNORECASE,
)


class Choice:
    """A provider as it is being chosen.

    `variable` is the environment variable that may hold its key, `key` one that is to be stored. `needs_key`: it is
    known not to work without. `may_find_key`: the address is the one that keys of this name are meant for.
    """

    def __init__(self) -> None:
        self.name = ""
        self.api = "openai-chat"
        self.base_url = ""
        self.model_file: str | None = None  # then there is no server, and no key
        self.variable: str | None = None
        self.key: Secret | None = None
        self.needs_key = False
        self.may_find_key = False
        self.is_preset = False
        self.model: str | None = None
        self.is_default = True
        self.suggested: tuple[str, ...] = ()
        self.headers: Mapping[str, str] = {}
        self.configured: Mapping[str, ModelSettings] = {}
        self.listing = Listing("")

    @property
    def host(self) -> str:
        return urlsplit(self.base_url).netloc

    def settings(self) -> ProviderSettings:
        """The provider as it will be configured."""
        if self.model_file is not None:
            return ProviderSettings(self.name, self.api, model_file=self.model_file)
        return ProviderSettings(self.name, self.api, self.base_url, self.variable, self.headers)

    def find_key(self, home: str) -> Secret | None:
        """The key to use: the new one, or the one there is. Raises `ConfigError`."""
        if self.key is not None or not self.may_find_key:
            return self.key
        return credentials.find_key(home, self.settings())

    def ranked(self) -> list[str]:
        """The models to choose from, those that acpagent knows first, then as the server lists them."""
        listed = [offer.name for offer in self.listing.offers]
        if not listed:
            return list(self.suggested)
        known = [name for name in self.suggested if name in listed]
        return known + [name for name in listed if name not in known and not _NO_CHAT.search(name)]

    def changes(self) -> dict[str, Any]:
        """What is merged into config.yaml."""
        body: dict[str, Any] = {"api": self.api}
        if self.model_file is not None:
            body["model_file"] = self.model_file
        elif not self.is_preset:
            body["base_url"] = self.base_url
            if variable := self.variable or self._own_variable():
                body["api_key_env"] = variable
        # Models that are written are all there are, so one of many known ones is better left out.
        there = tuple(self.configured) or self.suggested
        if self.model_file is None and self.model not in there:
            body["models"] = {**{name: {} for name in there}, self.model: self._details()}
        changes: dict[str, Any] = {"providers": {self.name: body}}
        return {"default_model": f"{self.name}/{self.model}", **changes} if self.is_default else changes

    def _own_variable(self) -> str | None:
        """The variable for the key of a provider of somebody's own. Not one that may hold a known provider's key."""
        if self.key is None or self.name in known_providers():
            return None
        return re.sub(r"[^A-Za-z0-9]", "_", self.name).upper() + "_API_KEY"

    def _details(self) -> dict[str, Any]:
        """What the server tells of a model that nobody else told about."""
        offer = next((one for one in self.listing.offers if one.name == self.model), None)
        if offer is None:
            return {}
        found = {"context_window": offer.context_window, "vision": offer.vision or None}
        return {key: value for key, value in found.items() if value is not None}


def known_providers() -> dict[str, dict[str, Any]]:
    """The presets that are servers."""
    return {name: dict(preset) for name, preset in presets.load().items() if preset.get("base_url")}


def choose_provider(
    choice: Choice, name: str, known: Settings, base_url: str | None = None, api: str | None = None
) -> None:
    """Take a provider: as it is configured, as acpagent knows it, or one at an address. Raises `UsageError`."""
    preset, there = known_providers().get(name), known.providers.get(name)
    if not _NAME.fullmatch(name):
        raise UsageError(say("setup_bad_name", name=name))
    if there is not None and there.base_url is None:
        raise UsageError(say("setup_taken", name=name))
    address = base_url or (there.base_url if there else None) or (preset or {}).get("base_url", "")
    if not address:
        names = ", ".join(known_providers())
        raise UsageError(say("setup_unknown", name=name, names=names))
    choice.name = name
    choice.configured = there.models if there else {}
    choice.headers = there.headers if there else {}
    move(choice, address, known)
    choice.api = api or (there.api if there else None) or (preset or {}).get("api", choice.api)


def choose_file(choice: Choice, name: str, path: str, known: Settings) -> None:
    """Take a model in a file of this machine. Raises `UsageError`."""
    path = os.path.abspath(os.path.expanduser(path))
    there = known.providers.get(name)
    if not _NAME.fullmatch(name) or name in known_providers() or (there is not None and there.model_file is None):
        raise UsageError(say("setup_bad_file_name", name=name))
    if not os.path.isfile(path):
        raise UsageError(say("setup_no_file", path=path))
    choice.name, choice.api, choice.model_file = name, "llama-cpp", path
    choice.model = file_model(path)
    choice.listing = Listing("")


def move(choice: Choice, address: str, known: Settings) -> None:
    """Take another address for the provider. A key goes nowhere but where it is meant for: one that is there already
    is for the address that is configured, or for the known server. Raises `UsageError`."""
    preset, there = known_providers().get(choice.name), known.providers.get(choice.name)
    choice.base_url = valid_address(address)
    choice.is_preset = preset is not None and address == tidy(preset["base_url"])
    as_configured = there is not None and address == tidy(there.base_url or "")
    choice.may_find_key = choice.is_preset or as_configured
    if as_configured and there is not None:
        choice.variable = there.api_key_env
    else:
        choice.variable = preset.get("api_key_env") if choice.is_preset and preset else None
    choice.needs_key = choice.variable is not None
    choice.suggested = tuple((preset or {}).get("models") or ()) if choice.is_preset or as_configured else ()


def valid_address(text: str) -> str:
    """An address as it is needed; what was left out of it is added. Raises `UsageError`."""
    address = tidy(text)
    if "://" not in address:
        address = f"{'http' if is_local(address.partition('/')[0]) else 'https'}://{address}"
    if not _ADDRESS.fullmatch(address):
        raise UsageError(say("setup_bad_address"))
    return address


def is_local(host: str) -> bool:
    """Whether a host, with a port or without, is this machine."""
    name = re.sub(r":\d+$", "", host)
    return name in ("localhost", "[::1]") or name.startswith("127.")


def other_key_in(variable: str | None, key: Secret) -> bool:
    """Whether a variable holds another key than the stored one, which it hides then."""
    return bool(variable) and os.environ.get(variable or "", "").strip() not in ("", key.reveal())
