"""/config: the settings in force, read only, and never a key."""

from __future__ import annotations

from acpagent.core.bounds import asked_line
from acpagent.runtime.commands.arguments import no_arguments
from acpagent.runtime.session.services import CommandDesk

_VALUE = 200


def answer(words: str, desk: CommandDesk) -> str:
    """Raises `Refused`, `Fault`."""
    no_arguments(words, "/config")
    controls = desk.requested()
    shown = desk.settings(controls.values["model"])
    session = [f"- {name}: `{value}`" for name, value in sorted(controls.values.items()) if value]
    settled = [f"- {name}: `{asked_line(value, _VALUE)}`" for name, value in shown.values]
    key = desk.say(f"config_key_{shown.key}", name=shown.key_name)
    return "\n".join(
        [
            desk.say("config_session"),
            "",
            *session,
            "",
            desk.say("config_file", path=shown.file),
            "",
            *settled,
            f"- {key}",
            "",
            desk.say("config_how"),
        ]
    )
