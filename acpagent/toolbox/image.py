"""view_image: a picture, for models that see."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from acpagent.core import files
from acpagent.core.blocks import Image, Text
from acpagent.core.files import NotText
from acpagent.core.paths import unmoved
from acpagent.core.phrases import titled
from acpagent.core.toolcalls import Effect, Kind, Location, Proposal, ToolContext, ToolRefusal, ToolResult
from acpagent.toolbox.arguments import STRING, Schema, closed
from acpagent.toolbox.texts import name, place, words

MAX_BYTES = 3 << 20  # in base64 the four MiB that every API takes
TITLE_CHARACTERS = 120
_SIGNS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)


class ViewImage:
    name = "view_image"
    description = "Look at a PNG, JPEG, GIF or WebP file."
    schema: Schema = closed({"path": STRING}, "path")
    reads_only = True
    kind: Kind = "read"

    def prepare(self, args: Mapping[str, Any], ctx: ToolContext) -> Proposal:
        path = place(ctx, args["path"])
        called = name(ctx, path)
        return Proposal(
            title=titled("title_view", TITLE_CHARACTERS, called),
            kind=self.kind,
            effects=(Effect("read", path),),
            subject=called,
            locations=(Location(ctx.roots.shown(path)),),
            detail=path,
            facts={"path": called},
        )

    def apply(self, proposal: Proposal, ctx: ToolContext) -> ToolResult:
        ctx.scope.check()
        data = _read(proposal.detail, proposal.subject)
        kind = media_type(data)
        if kind is None:
            raise ToolRefusal(f"{proposal.subject} is no PNG, JPEG, GIF or WebP image.")
        text = f"{proposal.subject}: {kind}, {len(data)} bytes"
        facts = {"path": proposal.subject}
        image = Image(base64.b64encode(data).decode("ascii"), kind)
        return ToolResult(
            text, content=(Text(text), image), raw={**facts, "media_type": kind, "bytes": len(data)}, facts=facts
        )


def media_type(data: bytes) -> str | None:
    """What kind of image begins so, whatever its file is called; None for none that models see."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for sign, kind in _SIGNS if data.startswith(sign)), None)


def _read(path: str, called: str) -> bytes:
    if not unmoved(path):
        raise ToolRefusal(f"{called} leads elsewhere now: a symbolic link came in between. Call again.")
    try:
        return files.read_bytes(path, MAX_BYTES)
    except NotText as reason:
        raise ToolRefusal(f"{called} cannot be shown: {reason}.") from None
    except FileNotFoundError:
        raise ToolRefusal(f"There is no file {called}.") from None
    except OSError as error:
        raise ToolRefusal(f"{called} cannot be read: {words(error)}.") from None
