"""Trying a provider out before anybody relies on it: its list of models, and a call as short as can be.

Everything here is bounded as a whole, name resolution included: the network is used on a helper thread, which is left
alone when the time is up. Importing this file imports `requests`.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from urllib.parse import urlsplit

import requests

from acpagent.config.settings import ModelSettings, ProviderSettings, Timeouts
from acpagent.core.catalogue import Phrase
from acpagent.core.model import ModelRequest, ProviderFault, UserMessage
from acpagent.core.scope import Cancelled, Scope, run_closers
from acpagent.providers import base, call, failures
from acpagent.providers.chat_errors import Told, read_error
from acpagent.providers.failures import FailedTry, Scrubber, says
from acpagent.providers.lost import lost
from acpagent.providers.over_http import OverHttp
from acpagent.providers.retry import Policy
from acpagent.version import __version__

if TYPE_CHECKING:
    from acpagent.config.credentials import Secret
    from acpagent.providers.caller import Dialect

SECONDS = 10.0
_LIST_BYTES = 16 * 1024 * 1024
_ENDS = ("/chat/completions", "/completions", "/messages", "/models")
# Where servers tell how much fits in a request.
_WINDOWS = ("context_length", "max_model_len", "context_window", "max_context_length", "max_input_tokens")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Offer:
    """A model that a server offers; what it does not tell is None."""

    name: str
    context_window: int | None = None
    vision: bool | None = None


@dataclass(frozen=True, slots=True)
class Listing:
    """What a server says that it has.

    `base_url` is where it was found. `offers` is empty if the server lists no models. `proves_key`: the list was given
    for the key's sake; some servers show theirs to anybody.
    """

    base_url: str
    offers: tuple[Offer, ...] = ()
    proves_key: bool = False


def tidy(base_url: str) -> str:
    """An address as it is needed, of one that was copied with the path of some method."""
    address = base_url.strip().rstrip("/")
    for end in _ENDS:
        address = address.removesuffix(end)
    return address.rstrip("/")


def list_models(provider: ProviderSettings, key: Secret | None, seconds: float = SECONDS) -> Listing:
    """Ask a server what it has. If there is nothing at `base_url`, the place below it that is usual is tried.

    Raises `ProviderFault` when there is no answer in time, the key is not accepted, or nothing there speaks the API.
    """
    deadline = time.monotonic() + seconds
    return _within(seconds, provider, lambda scope: _list(_Asking(provider, key, deadline)))


def speak(provider: ProviderSettings, model: ModelSettings, key: Secret | None, seconds: float = SECONDS) -> None:
    """Have the model say one token. Raises `ProviderFault`."""
    short = replace(model, max_output_tokens=1)
    times = Timeouts(seconds, seconds)
    one = base.build(replace(provider, timeouts=times), short, lambda: key, policy=Policy(tries=1))

    def work(scope: Scope) -> None:
        said = [part for message in (UserMessage("Hi"),) for part in one.encode(message)]
        for _ in one.stream(ModelRequest("", one.encode_tools(()), said), scope):
            pass

    try:
        _within(seconds, provider, work)
    finally:
        one.close()


class _Result(Generic[T]):
    """What a helper thread brings."""

    __slots__ = ("fault", "value")

    def __init__(self) -> None:
        self.value: T | None = None
        self.fault: BaseException | None = None


def _within(seconds: float, provider: ProviderSettings, work: Callable[[Scope], T]) -> T:
    """Run `work` on a daemon thread for at most `seconds`."""
    scope, done, result = Scope(), threading.Event(), _Result[T]()

    def run() -> None:
        try:
            result.value = work(scope)
        except BaseException as fault:
            result.fault = fault
        done.set()

    threading.Thread(target=run, name="acpagent-probe", daemon=True).start()
    try:
        in_time = done.wait(seconds)
    finally:
        run_closers(scope.cancel())
    if not in_time or isinstance(result.fault, Cancelled):
        host = urlsplit(provider.base_url or "").netloc
        raise ProviderFault("unavailable", says(provider.name, Phrase("probe_slow", host=host, seconds=f"{seconds:g}")))
    if result.fault is not None:
        raise result.fault
    return result.value  # type: ignore[return-value]


class _Asking:
    """GET requests to one provider, until `deadline` (monotonic)."""

    def __init__(self, provider: ProviderSettings, key: Secret | None, deadline: float) -> None:
        self.provider = provider
        self.key = key.reveal() if key else None
        self._deadline = deadline
        self._scrub = Scrubber((self.key or "", *provider.headers.values()))

    def get(self, base_url: str, with_key: bool = True) -> tuple[int, Any]:
        """The status and the decoded body, None if that is no JSON. Raises `ProviderFault`."""
        host = urlsplit(base_url).hostname or ""
        dialect = _dialect(replace(self.provider, base_url=base_url))
        left = max(0.1, self._deadline - time.monotonic())
        times = Timeouts(left, left)
        try:
            response = requests.get(
                f"{base_url}{_above(dialect.path)}/models",
                headers=self._headers(dialect, with_key),
                auth=lambda request: request,  # without it requests looks for credentials in a netrc file
                timeout=(left, left),
                proxies={"no_proxy": host} if call.is_loopback(host) else None,
                allow_redirects=False,  # a key goes nowhere but where it was meant for
                stream=True,
            )
            with response:
                body = self._body(response)
        except call.ERRORS as error:
            raise lost(error, self.provider.name, urlsplit(base_url).netloc, times).fault from None
        except ValueError:  # an address or a header that cannot be used; the exception quotes it
            raise ProviderFault("rejected", says(self.provider.name, Phrase("probe_not_asked", host=host))) from None
        try:
            return response.status_code, json.loads(body)
        except (ValueError, RecursionError):
            return response.status_code, None

    def fault(self, status: int, body: Any) -> ProviderFault:
        """What an answer other than a list means."""
        told = read_error(body) or Told("")
        name, env = self.provider.name, self.provider.api_key_env or ""
        failed = failures.from_status(name, status, self._scrub(told.said), code=told.code, key_from=env)
        return failed.fault if isinstance(failed, FailedTry) else failed

    def _headers(self, dialect: Dialect, with_key: bool) -> dict[str, str]:
        own = {"Accept": "application/json", "User-Agent": f"acpagent/{__version__}", **dialect.headers}
        if self.key is not None and with_key:
            name, before = dialect.key_header
            own[name] = before + self.key
        return {**own, **self.provider.headers}

    def _body(self, response: requests.Response) -> bytes:
        data = b""
        for piece in response.iter_content(65536):
            data += piece
            if len(data) > _LIST_BYTES or time.monotonic() > self._deadline:
                break
        return data


def _dialect(provider: ProviderSettings) -> Dialect:
    one = base.build(provider, ModelSettings(provider.name, ""))
    if not isinstance(one, OverHttp):
        raise ProviderFault("rejected", says(provider.name, Phrase("probe_no_server")))
    return one.dialect()


def _above(path: str) -> str:
    """What a method's path has before the method."""
    return next(path.removesuffix(end) for end in _ENDS if path.endswith(end))


def _list(asking: _Asking) -> Listing:
    base_url = tidy(asking.provider.base_url or "")
    status, body = asking.get(base_url)
    if not _is_list(status, body) and status not in (401, 403) and not urlsplit(base_url).path.endswith("/v1"):
        below = f"{base_url}/v1"
        found = asking.get(below)
        if _is_list(*found) or found[0] in (401, 403):
            base_url, (status, body) = below, found
    if status in (404, 405, 501) and body is not None:
        return Listing(base_url)  # it speaks JSON, and has no list
    if status // 100 != 2:
        raise asking.fault(status, body)
    if not _is_list(status, body):
        raise ProviderFault("rejected", says(asking.provider.name, Phrase("probe_odd", host=base_url)))
    proves = asking.key is not None and asking.get(base_url, with_key=False)[0] // 100 != 2
    return Listing(base_url, tuple(_offers(body)), proves)


def _is_list(status: int, body: Any) -> bool:
    return status // 100 == 2 and _rows(body) is not None


def _rows(body: Any) -> list[Any] | None:
    found = body.get("data", body.get("models")) if isinstance(body, Mapping) else body
    return found if isinstance(found, list) else None


def _offers(body: Any) -> list[Offer]:
    offers: dict[str, Offer] = {}
    for row in _rows(body) or ():
        name = row.get("id", row.get("name")) if isinstance(row, Mapping) else row
        if isinstance(name, str) and name.strip() and name.isprintable():
            told = (_window(row), _sees(row)) if isinstance(row, Mapping) else ()
            offers.setdefault(name, Offer(name, *told))
    return list(offers.values())


def _window(row: Mapping[str, Any]) -> int | None:
    about = row.get("meta")
    meta: Mapping[str, Any] = about if isinstance(about, Mapping) else {}
    found = [row.get(key) for key in _WINDOWS] + [meta.get("n_ctx"), meta.get("n_ctx_train")]
    return next((value for value in found if type(value) is int and 1024 <= value <= 1_000_000_000), None)


def _sees(row: Mapping[str, Any]) -> bool | None:
    about = row.get("architecture")
    kinds = about.get("input_modalities") if isinstance(about, Mapping) else None
    return "image" in kinds if isinstance(kinds, list) else None
