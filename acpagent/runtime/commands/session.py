"""/session: what is known of the session at hand."""

from __future__ import annotations

from acpagent.core.bounds import asked_line
from acpagent.runtime.commands.arguments import minute, no_arguments
from acpagent.runtime.session.services import CommandDesk


def answer(words: str, desk: CommandDesk) -> str:
    """Raises `Refused`, `Fault`."""
    no_arguments(words, "/session")
    stats = desk.stats()
    row = stats.row
    lines = [
        desk.say("session_id", id=row.id),
        desk.say("session_title", title=asked_line(row.title or "-", 120)),
        desk.say("session_folder", cwd=row.cwd),
        desk.say("session_times", created=minute(row.created_at), updated=minute(row.updated_at)),
        desk.say("session_counts", prompts=row.prompts, entries=stats.entries),
        desk.say("session_model", model=desk.requested().values["model"]),
        desk.say("session_tokens", tokens=stats.tokens),
    ]
    window = desk.upkeep.budget()
    percent = round(100 * window.used / max(1, window.size))
    lines.append(desk.say("session_context", used=window.used, size=window.size, percent=percent))
    if stats.cost is not None:
        lines.append(desk.say("session_cost", cost=round(stats.cost, 6), currency=stats.currency))
    lines.append(desk.say("session_jobs", jobs=stats.jobs))
    return "\n".join([desk.say("session_head"), "", *(f"- {line}" for line in lines)])
