"""What `initialize` must know of the configuration, read in a millisecond.

A full load imports yaml and jsonschema, which takes longer than all the rest of the start. So its outcome is
kept as a small JSON copy, good as long as the size and time of `config.yaml` and our version stay the same.
Only json and os are imported on that road. A malformed configuration is never copied, and so is reported at
every start.
"""

from __future__ import annotations

import json
import os

from acpagent.config import language, locate, selection
from acpagent.config.problems import ConfigError, ConfigProblem
from acpagent.version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    Key = list[int | str]
    Models = list[tuple[str, str, bool]]  # provider, model, whether it sees images
    Kept = tuple[int, Models, str]  # with the position of the start-up model, and the `language` setting

FORMAT = 4  # of the copy; a change of what is kept or how it is checked counts it up


class Startup:
    """`model` is the start-up model as `provider/model`, None if no provider is configured; `images` says
    whether it sees them. `language` is spoken where no session says another."""

    __slots__ = ("images", "language", "model")

    def __init__(self, model: str | None, images: bool, language: str) -> None:
        self.model = model
        self.images = images
        self.language = language

    @property
    def configured(self) -> bool:
        return self.model is not None


def read(home: str, model_flag: str | None = None) -> Startup:
    """What the start needs. `model_flag` is the value of `--model`, which wins over `default_model`.

    Raises `ConfigError` for a malformed configuration, and for a flag that names no configured model. Without
    any provider the flag is not looked at: what is missing then is the configuration, not a better flag.
    """
    key = _key(home)
    if key is None:
        return Startup(None, False, language.chosen(language.AUTO, os.environ))
    kept = _kept(home, key)
    if kept is None:
        kept = _load(home)
        if key == _key(home):  # else the file changed in between, and whose settings these are is unknown
            _keep(home, key, kept)
    start, models, speaks = kept
    return _chosen(start, models, language.chosen(speaks, os.environ), model_flag)


def _chosen(start: int, models: Models, speaks: str, model_flag: str | None) -> Startup:
    if not models:
        return Startup(None, False, speaks)
    if model_flag is not None:
        try:
            start = selection.select([(provider, model) for provider, model, _ in models], model_flag)
        except selection.UnknownModel as unknown:
            raise ConfigError(ConfigProblem("--model", None, unknown.what, unknown.remedy)) from None
    provider, model, images = models[start]
    return Startup(f"{provider}/{model}", images, speaks)


def _key(home: str) -> Key | None:
    """What the copy is good for; None if there is no configuration."""
    try:
        found = os.stat(locate.config_file(home))
    except FileNotFoundError:
        return None
    except OSError:  # out of reach, which the full load reports
        return []
    return [FORMAT, __version__, found.st_size, found.st_mtime_ns]


def _kept(home: str, key: Key) -> Kept | None:
    """The copy, or None unless it is whole and made for `key`. Anything odd in it only costs a full load."""
    try:
        with open(locate.startup_file(home), encoding="utf-8") as file:
            copy = json.load(file)
        if copy["key"] != key:
            return None
        start: int = copy["start"]
        models = [(provider, model, images is True) for provider, model, images in copy["models"]]
        whole = all(isinstance(provider, str) and isinstance(model, str) for provider, model, _ in models)
        speaks: str = copy["language"]
        whole = whole and isinstance(speaks, str)
        return (start, models, speaks) if whole and start in range(max(1, len(models))) else None
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None


def _load(home: str) -> Kept:
    from acpagent.config import settings

    loaded = settings.load(home)
    models = loaded.models
    start = models.index(loaded.model()) if models else 0
    return start, [(model.provider, model.name, model.vision) for model in models], loaded.language


def _keep(home: str, key: Key, kept: Kept) -> None:
    """Write the copy. A home that cannot be written only costs time."""
    from acpagent.core import files

    path = locate.startup_file(home)
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        files.write_bytes(
            path, json.dumps({"key": key, "start": kept[0], "models": kept[1], "language": kept[2]}).encode()
        )
    except OSError:
        pass
