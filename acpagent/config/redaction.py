"""The secrets that this machine's acpagent could know, and taking them out of text: by value, and by shape."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from acpagent.config import credentials, document, locate
from acpagent.config.problems import ConfigError

HIDDEN = "[hidden]"
# Settings whose texts are never needed to understand a problem.
SECRET_SETTINGS = frozenset({"headers", "env", "args"})
_SHORTEST = 6  # a shorter secret is a word like any other
_NAMES = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH|COOKIE|PRIVATE", re.IGNORECASE)
_SHAPES = re.compile(
    r"\b(?:sk|pk|rk|gsk|xai|ghp|gho|ghu|ghs|ghr|github_pat|glpat|hf|dop_v1|shpat|AKIA|ASIA|AIza)"
    r"[-_]?[A-Za-z0-9][A-Za-z0-9._-]{12,}|\bxox[a-z]-[\w-]{10,}|\bnpm_\w{20,}|\bpypi-[\w-]{20,}"
    r"|\beyJ[\w-]{8,}\.[\w-]+\.[\w-]*"
    r"|(?<=Bearer )[!-~]{6,}|(?<=Basic )(?=[a-z+/]*[A-Z0-9=])[\w+/=-]{8,}"
    r"|(?<=://)[^\s/@:]*:[^\s/@]+(?=@)|(?<=://)[^\s/@:?#]{12,}(?=@)"
    r"|(?s:-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z))"
)
# What is given a name that says it is secret: `API_KEY=...`, `"clientSecret": "..."`, `--password ...`, `mysql -p...`;
# or is said to be it. The first group stays.
_CALLED = (
    r"(?:[\w-]{0,60}(?:token|secret|passw(?:or)?d|passphrase|api_?key|access_?key|private_?key|credentials?)"
    r"|(?:[\w-]{0,60}[_-])?(?:key|pwd|pass|authorization|cookie))"
)
_CALLED_NAME = re.compile(_CALLED, re.IGNORECASE)
_VALUE = r"(?!\[hidden)((?<=\")[^\"\n]{6,}|(?<=')[^'\n]{6,}|[^\s\"'&;|,}\]]{6,})"
_GIVEN = (
    re.compile(
        rf"((?<![\w-])[\"']?{_CALLED}(?:[_-](?:id|key|value))?\\*[\"']?\s*[=:]\s*(?:(?:bearer|basic|token)\s+)?\\*[\"']?"
        rf"|(?<![\w-])--{_CALLED}\s+[\"']?){_VALUE}",
        re.IGNORECASE,
    ),
    re.compile(
        r"(\b(?:token|secret|passw(?:or)?d|passphrase|key) is:? [\"'`]?)(?!\[hidden)(?=[^\s\"'`]*\d)([^\s\"'`,;]{8,})",
        re.IGNORECASE,
    ),
    re.compile(r"(\s(?:-u|--(?:proxy-)?user)[ =]?[\"']?[^\s:\"'/]+:)(?!\d+\b|\[hidden)([^\s\"'|;&]{3,})"),
    re.compile(r"(\b(?:mysql\w*|mariadb[\w-]*)\b[^\n|;&]{0,200}?\s-p)(?!\[hidden)([^\s\"'|;&]{3,})"),
    re.compile(r"(\b(?:sshpass\s+-p|redis-cli\b[^\n|;&]{0,200}?\s-a)\s*[\"']?)(?!\[hidden)([^\s\"'|;&]{3,})"),
)


_SERVERS_FOLDER = "mcp"
_TOKENS = frozenset({"access_token", "refresh_token", "id_token", "client_secret", "code_verifier"})


class Secrets:
    """Hides every secret it was made with, and what looks like one."""

    def __init__(self, texts: Iterable[str]) -> None:
        found = {text for text in texts if len(text) >= _SHORTEST}
        spelled = found | {json.dumps(text)[1:-1] for text in found}
        self._secrets = sorted(spelled, key=len, reverse=True)

    def __call__(self, text: str) -> str:
        """`text` without secrets."""
        return _SHAPES.sub(HIDDEN, self.values(text))

    def values(self, text: str) -> str:
        """`text` without the secrets it was made with, whatever else looks like one."""
        for secret in self._secrets:
            text = text.replace(secret, HIDDEN)
        return text

    def strictly(self, text: str) -> str:
        """The same, without whatever is called a key, token or password, either."""
        text = self(text)
        for given in _GIVEN:
            text = given.sub(rf"\1{HIDDEN}", text)
        return text


def is_secret_name(name: str) -> bool:
    """Whether what has this name is secret."""
    return _CALLED_NAME.fullmatch(name) is not None


def known(home: str, named: bool = False) -> Iterator[str]:
    """Every text that may be secret: keys in the credentials file, variables that look like secrets, headers and
    environments in the configuration, what is kept for servers. `named`: of variables, headers and environments only
    what is called a secret, and no paths, so that what is left can still be understood."""
    variables = (text.strip() for name, text in os.environ.items() if _NAMES.search(name))
    yield from (text for text in variables if not (named and os.path.exists(text)))
    yield from own(home, named)


def own(home: str, named: bool = True) -> Iterator[str]:
    """The same, but for variables that acpagent does not use itself."""
    try:
        yield from (key.reveal() for key in credentials.read_file(locate.credentials_file(home)).values())
    except ConfigError:
        yield from _anything_in(locate.credentials_file(home))
    yield from _kept_for_servers(os.path.join(home, _SERVERS_FOLDER))
    try:
        settings = document.read(locate.config_file(home)).value
    except (ConfigError, OSError):
        yield from () if named else _anything_in(locate.config_file(home), r"[!-~]{16,}")
        return
    yield from _texts(settings, named=named)
    for provider in _mappings(settings, "providers"):
        name = provider.get("api_key_env")
        if isinstance(name, str):
            yield os.environ.get(name, "").strip()


class Current:
    """Hides what `find` finds, which is looked for again whenever a file has changed that it is kept in. Any thread may
    use it: what it knows is replaced as a whole. Texts shorter than `shortest` are none to hide."""

    __slots__ = ("_find", "_found", "_home", "_shortest")

    def __init__(self, home: str, find: Callable[[str], Iterable[str]], shortest: int = 0) -> None:
        self._home = home
        self._find = find
        self._shortest = shortest
        self._found: tuple[Any, Secrets] | None = None

    def __call__(self, text: str) -> str:
        """`text` without what it hides now, nor what looks like a secret or is called one."""
        return self.secrets.strictly(text)

    @property
    def secrets(self) -> Secrets:
        """What it hides now."""
        home, found = self._home, self._found
        folder = os.path.join(home, _SERVERS_FOLDER)
        stamp = [_stamp(path) for path in (locate.credentials_file(home), locate.config_file(home), folder)]
        if found is None or found[0] != stamp:
            texts = (text for text in self._find(home) if len(text) >= self._shortest)
            found = self._found = (stamp, Secrets(texts))
        return found[1]


def _stamp(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def _kept_for_servers(folder: str) -> Iterator[str]:
    """What was stored for servers, and the tokens that they gave."""
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return
    for name in names:
        try:
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                found = json.load(file)
        except (OSError, ValueError):
            continue
        yield from _values(found, name == "secrets.json")


def _values(found: Any, every: bool) -> Iterator[str]:
    for name, value in found.items() if isinstance(found, dict) else ():
        if isinstance(value, str) and (every or name in _TOKENS):
            yield value
        elif isinstance(value, dict):
            yield from _values(value, every)


def _texts(settings: Any, key: str = "", named: bool = False) -> Iterator[str]:
    """Everything in the configuration that is to be hidden."""
    if isinstance(settings, Mapping):
        for name, value in settings.items():
            if key not in SECRET_SETTINGS:
                yield from _texts(value, name, named)
            elif not named or _NAMES.search(str(name)):
                yield str(value)
                yield from str(value).split()  # `Bearer KEY` without its first word
    elif isinstance(settings, list):
        for item in settings:
            if key not in SECRET_SETTINGS:
                yield from _texts(item, named=named)
            elif not named:
                yield str(item)


def _mappings(settings: Any, key: str) -> list[Mapping[str, Any]]:
    found = settings.get(key) if isinstance(settings, Mapping) else None
    return [one for one in found.values() if isinstance(one, Mapping)] if isinstance(found, Mapping) else []


def _anything_in(path: str, shape: str = r"[!-~]{6,}") -> Iterator[str]:
    """Every word of a file that cannot be read as what it should be: any could be a secret."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            yield from (word.strip("'\",:[]{}") for word in re.findall(shape, file.read()))
    except OSError:
        return
