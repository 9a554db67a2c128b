from __future__ import annotations

import base64
import os

import pytest

from acpagent.core.blocks import Image, Text
from acpagent.core.scope import Cancelled, Scope
from acpagent.core.toolcalls import Effect, Location, ToolRefusal
from acpagent.toolbox.image import MAX_BYTES
from acpagent.toolbox.registry import Registry, builtin_tools

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@pytest.fixture
def desk(bench):
    bench.registry = Registry(builtin_tools(sees_images=True))
    return bench


def test_an_image(desk):
    path = desk.write("a/pic.txt", PNG)  # what it is called says nothing
    proposal = desk.prepare("view_image", path="a/pic.txt")
    assert (proposal.title, proposal.kind, proposal.subject) == ("View a/pic.txt", "read", "a/pic.txt")
    assert proposal.effects == (Effect("read", path),)
    assert proposal.locations == (Location(path),)
    result = desk.apply("view_image", proposal)
    assert result.text == f"a/pic.txt: image/png, {len(PNG)} bytes"
    assert result.content == (Text(result.text), Image(base64.b64encode(PNG).decode(), "image/png"))
    assert result.raw == {"path": "a/pic.txt", "media_type": "image/png", "bytes": len(PNG)}


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"\xff\xd8\xff\xe0JFIF", "image/jpeg"),
        (b"GIF87a", "image/gif"),
        (b"GIF89a", "image/gif"),
        (b"RIFF\x10\0\0\0WEBPVP8 ", "image/webp"),
    ],
)
def test_kinds(desk, data, kind):
    desk.write("pic", data)
    assert desk.call("view_image", path="pic").content[1].media_type == kind


@pytest.mark.parametrize("data", [b"", b"text", b"<svg/>", b"RIFF\x10\0\0\0WAVEfmt ", b"\x89PNG", b"BM\0\0"])
def test_what_is_no_image(desk, data):
    desk.write("pic.png", data)
    assert desk.refusal("view_image", path="pic.png") == "pic.png is no PNG, JPEG, GIF or WebP image."


def test_refusals(desk):
    desk.write("big", PNG + bytes(MAX_BYTES))
    os.mkfifo(desk.root / "pipe")
    assert desk.refusal("view_image", path="big") == "big cannot be shown: it is larger than 3 MiB."
    assert desk.refusal("view_image", path="pipe") == "pipe cannot be shown: it is not a regular file."
    assert desk.refusal("view_image", path="none") == "There is no file none."
    assert desk.refusal("view_image", path=".") == ". cannot be read: Is a directory."


def test_a_link_that_came_in_between(desk):
    desk.write("d/pic", PNG)
    (desk.base / "out" / "pic").write_bytes(PNG)
    proposal = desk.prepare("view_image", path="d/pic")
    os.rename(desk.root / "d", desk.root / "e")
    (desk.root / "d").symlink_to(desk.base / "out")
    with pytest.raises(ToolRefusal, match="leads elsewhere now"):
        desk.apply("view_image", proposal)


def test_nothing_is_read_once_cancelled(desk):
    desk.write("pic", PNG)
    scope = Scope()
    ctx = desk.context(scope)
    proposal = desk.prepare("view_image", ctx, path="pic")
    scope.cancel()
    with pytest.raises(Cancelled):
        desk.apply("view_image", proposal, ctx)
