"""Addresses in the web: taken apart, and judged by where they lead."""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote, urljoin, urlsplit

from acpagent.core.toolcalls import ToolRefusal

MAX_CHARACTERS = 2000
_PORTS = {"http": 80, "https": 443}
_NAME = re.compile(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*")
_UNFIT = re.compile(r"[\x00-\x20\x7f]")
_SAFE = "/%:=&?~#+!$,;'@()*[]-._"  # in a path and query: what has a meaning there, and what is encoded already
# Names that lead to the machine, or to a network that is nobody else's business.
_LOCAL_NAMES = ("localhost", "local", "internal", "intranet", "lan", "home", "corp", "private", "home.arpa")

_TRANSLATED = ipaddress.IPv6Network("64:ff9b::/96")
_COMPATIBLE = ipaddress.IPv6Network("::/96")

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(frozen=True, slots=True)
class Target:
    """An http or https address. `host` is in small ASCII letters, without brackets; `path` has the query with it."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def netloc(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.netloc}{self.path}"

    @property
    def site(self) -> str:
        """The host, as most people would take it for the same."""
        return self.host.removeprefix("www.")


def parse(text: str) -> Target:
    """An address as the model wrote it. Raises `ToolRefusal`."""
    text = text.strip()
    if len(text) > MAX_CHARACTERS or _UNFIT.search(text):
        raise ToolRefusal(f"url must have no spaces and at most {MAX_CHARACTERS} characters.")
    try:
        parts = urlsplit(text)
        scheme, host, port = parts.scheme.lower(), parts.hostname or "", parts.port
    except ValueError as fault:
        raise ToolRefusal(f"url cannot be used: {fault}.") from None
    if scheme not in _PORTS or not host:
        raise ToolRefusal("url must begin with http:// or https:// and a host.")
    if parts.username is not None or parts.password is not None:
        raise ToolRefusal("url must not hold a name or password.")
    path = quote(parts.path or "/", safe=_SAFE) + (f"?{quote(parts.query, safe=_SAFE)}" if parts.query else "")
    return Target(scheme, _host(host), port or _PORTS[scheme], path)


def onward(target: Target, location: str) -> Target:
    """Where a redirect leads. Raises `ToolRefusal`."""
    try:
        return parse(urljoin(target.url, location.strip().replace(" ", "%20")))
    except (ValueError, ToolRefusal):
        raise ToolRefusal(f"{target.url} redirects to something that is no usable address.") from None


def literal(host: str) -> Address | None:
    """The address that a host is written as; None for a name."""
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def is_public(address: Address) -> bool:
    """Whether an address is one in the internet that anybody can reach. Those that stand for another one are as that
    one is."""
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour or _embedded(address)
        if inner is not None:
            return is_public(inner)
    return address.is_global and not (address.is_multicast or address.is_reserved or address.is_link_local)


def is_local_name(host: str) -> bool:
    """Whether a name is one that has a meaning in some network only."""
    return "." not in host or any(host == name or host.endswith(f".{name}") for name in _LOCAL_NAMES)


def refused(host: str) -> ToolRefusal:
    return ToolRefusal(
        f"{host} is in a private network, which web_fetch does not reach. The person can allow it in config.yaml under "
        "fetch.allow_private."
    )


def may_be_asked_for(host: str) -> bool:
    """Whether a host may be reached, as far as its name tells."""
    address = literal(host)
    return is_public(address) if address is not None else not is_local_name(host)


class Allowed:
    """Hosts that may be reached although they are private: each name stands for itself and those below it."""

    def __init__(self, hosts: Sequence[str]) -> None:
        self._hosts = tuple(host.strip("[]").rstrip(".").lower() for host in hosts)

    def covers(self, host: str) -> bool:
        if literal(host) is not None:
            return host in self._hosts
        return any(host == name or host.endswith(f".{name}") for name in self._hosts)


def _host(host: str) -> str:
    """A host in its one spelling. Raises `ToolRefusal`."""
    host = host.rstrip(".")
    try:
        host = host.encode("ascii" if host.isascii() else "idna").decode("ascii").lower()
    except UnicodeError:
        host = ""
    if ":" in host:
        address = literal(host)
        if isinstance(address, ipaddress.IPv6Address) and not address.scope_id:
            return str(address)
    elif _NAME.fullmatch(host):
        return _dotted(host)
    raise ToolRefusal("url has no usable host.")


def _dotted(host: str) -> str:
    """Some numbers are addresses in odd spellings: 127.1, 0x7f000001, 2130706433."""
    try:
        return socket.inet_ntoa(socket.inet_aton(host))
    except OSError:
        return host


def _embedded(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """The address behind one that translators, or very old systems, made of it."""
    if address in _TRANSLATED or address in _COMPATIBLE:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return None
