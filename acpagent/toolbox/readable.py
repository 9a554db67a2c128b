"""HTML as text that a model can read, in the manner of Markdown; a program of its own that needs the standard library
alone.

Pages are written by strangers, and some take for ever. So the reading runs in a child that can be ended. Arguments: a
JSON object {url}, to which links are relative. Input: the page in UTF-8. Output: a JSON line {title, text, cut}.
"""

from __future__ import annotations

import json
import sys
from html.parser import HTMLParser
from urllib.parse import urljoin

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Attributes = list[tuple[str, str | None]]

MAX_CHARACTERS = 2_000_000  # of the text; short links on a page with a long address can make much of little
_LINK_CHARACTERS = 2000
_HIDDEN = frozenset({"script", "style", "noscript", "template", "svg", "iframe", "object", "textarea", "select"})
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_BLOCKS = _HEADINGS | {
    "address", "article", "aside", "blockquote", "body", "caption", "details", "dialog", "div", "dl", "fieldset",
    "figcaption", "figure", "footer", "form", "header", "hgroup", "main", "nav", "ol", "p", "pre", "section", "summary",
    "table", "ul",
}  # fmt: skip
_LINES = frozenset({"br", "dd", "dt", "li", "tr"})


class Enough(Exception):
    """There is more text than is wanted."""


class Page(HTMLParser):
    """Feed it a page and close it; then `title` and `text()` are what it says."""

    def __init__(self, url: str) -> None:
        super().__init__(convert_charrefs=True)
        self.title = ""
        self.full = False  # whether `Enough` was raised, as it is once
        self._url = url
        self._lines: list[str] = []
        self._size = 0
        self._inline: list[str] = []  # the line that is being put together
        self._gap = False  # an empty line is due
        self._mark = ""  # what the line begins with: a heading's or a list item's sign
        self._hidden: list[str] = []
        self._in_title = False
        self._pre = False
        self._lists: list[int | None] = []  # of each open list the number of the last item, None where it has none
        self._rows: list[bool] = []  # of each open table whether a row is
        self._link: tuple[str, int] | None = None  # where it leads, and where in the line it begins
        self._main: list[int] = []  # where the main part begins and ends
        self._beginnings: dict[str, Callable[[], None]] = {
            "ul": lambda: self._lists.append(None),
            "ol": lambda: self._lists.append(0),
            "li": self._item,
            "table": lambda: self._rows.append(False),
            "tr": self._row,
            "td": self._cell,
            "th": self._cell,
            "pre": self._begin_pre,
            "hr": self._rule,
            "code": self._code,
            "main": self._begin_main,
        }

    def text(self) -> str:
        """All of it, or its main part where the page says which that is."""
        self._break()
        start, end = (*self._main, len(self._lines))[:2] if self._main else (0, len(self._lines))
        return "\n".join(self._lines[start:end] or self._lines).strip("\n")

    # What the parser finds.

    def handle_starttag(self, tag: str, attrs: Attributes) -> None:
        if tag in _HIDDEN:
            self._hidden.append(tag)
        elif tag == "title":
            self._in_title = not self.title
        elif not self._hidden:
            self._open(tag, dict(attrs))

    def handle_startendtag(self, tag: str, attrs: Attributes) -> None:
        if tag not in _HIDDEN:
            self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        if tag in self._hidden:
            while self._hidden.pop() != tag:
                pass
        elif tag == "title":
            self._in_title = False
        elif not self._hidden:
            self._close(tag)

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title = " ".join(f"{self.title}{data}".split())[:500]
        elif not self._hidden:
            self._inline.append(data)
            self._count(data)

    # What it means.

    def _open(self, tag: str, attributes: dict[str, str | None]) -> None:
        if tag == "tr":
            self._end_row()
        if tag in _BLOCKS or tag in _LINES:
            self._break(gap=tag in _BLOCKS)
        if tag in _HEADINGS:
            self._mark = "#" * int(tag[1]) + " "
        elif tag == "a":
            self._begin_link(attributes.get("href"))
        elif tag == "img" and attributes.get("alt"):
            self._inline.append(f"![{attributes['alt']}]")
        elif tag in self._beginnings:
            self._beginnings[tag]()

    def _close(self, tag: str) -> None:
        if tag == "a":
            self._end_link()
        elif tag == "code":
            self._code()
        elif tag == "pre" and self._pre:
            self._end_pre()
        elif tag in ("tr", "table"):
            self._end_row()
        if tag in _BLOCKS or tag in _LINES:
            self._break(gap=tag in _BLOCKS)
        if tag in _HEADINGS or tag == "li":
            self._mark = ""
        elif tag in ("ul", "ol") and self._lists:
            self._lists.pop()
            self._gap = self._gap or not self._lists
        elif tag == "table" and self._rows:
            self._rows.pop()
        elif tag == "main" and len(self._main) == 1:
            self._main.append(len(self._lines))

    def _rule(self) -> None:
        self._break(gap=True)
        self._put("---")
        self._gap = True

    def _code(self) -> None:
        if not self._pre:
            self._inline.append("`")

    def _begin_pre(self) -> None:
        self._pre = True

    def _begin_main(self) -> None:
        if not self._main:
            self._main.append(len(self._lines))

    def _row(self) -> None:
        if self._rows:
            self._rows[-1] = True

    def _end_row(self) -> None:
        if self._rows:
            self._rows[-1] = False

    def _cell(self) -> None:
        if any(piece.strip() for piece in self._inline):
            self._inline.append(" | ")

    def _item(self) -> None:
        if not self._lists:
            self._mark = "- "
            return
        number = self._lists[-1]
        if number is not None:
            self._lists[-1] = number = number + 1
        self._mark = "- " if number is None else f"{number}. "

    def _begin_link(self, href: str | None) -> None:
        self._end_link()
        if href is None:
            return
        try:
            url = urljoin(self._url, href.strip())
        except ValueError:
            return
        leads_away = not href.strip().startswith("#") and len(url) <= _LINK_CHARACTERS
        if leads_away and url.startswith(("http://", "https://", "mailto:")) and not self._pre:
            self._link = (url.replace(" ", "%20").replace(")", "%29"), len(self._inline))

    def _end_link(self) -> None:
        if self._link is None:
            return
        url, start = self._link
        self._link = None
        words = "".join(self._inline[start:])
        shown = " ".join(words.split())
        if shown:
            link = url if shown == url else f"[{shown}]({url})"
            self._inline[start:] = [words[: len(words) - len(words.lstrip())] + link + words[len(words.rstrip()) :]]
            self._count(url)

    def _end_pre(self) -> None:
        self._pre = False
        code = "".join(self._inline).strip("\n")
        self._inline = []
        if not code.strip():
            return
        fence = "```"
        while fence in code:
            fence += "`"
        self._put(fence)
        for line in code.split("\n"):
            self._put(line.rstrip(), bare=True)
        self._put(fence)
        self._gap = True

    # Lines.

    def _break(self, gap: bool = False) -> None:
        """End the line, with an empty one to follow where there is a `gap`, which lists have none of. A row of a table
        stays on one line."""
        if self._pre:
            self._inline.append("\n")
            return
        if self._rows and self._rows[-1]:
            self._inline.append(" ")
            return
        if self._link is not None and "".join(self._inline[self._link[1] :]).strip():
            self._end_link()
        line = " ".join("".join(self._inline).split())
        self._inline = []
        if self._link is not None:
            self._link = (self._link[0], 0)
        if line:
            self._put(line)
        self._gap = self._gap or (gap and not self._lists)

    def _put(self, line: str, bare: bool = False) -> None:
        if self._gap and self._lines and self._lines[-1] and not bare:
            self._lines.append("")
        self._gap = False
        indent = "  " * (len(self._lists) - 1 if self._mark else len(self._lists))
        self._lines.append(line if bare else indent + self._mark + line)
        if self._mark:
            self._mark = ""
        self._count(indent)

    def _count(self, text: str) -> None:
        self._size += len(text) + 1
        if self._size > MAX_CHARACTERS and not self.full:
            self.full = True
            raise Enough


def read(url: str, html: str) -> dict[str, object]:
    """A page's `title` and `text`, and whether it was `cut`."""
    page, cut = Page(url), False
    try:
        page.feed(html)
        page.close()
    except (Enough, AssertionError, ValueError):  # the parser itself raises on a few things that nobody should write
        page.full = cut = True
    return {"title": page.title, "text": page.text(), "cut": cut}


def main() -> None:
    options = json.loads(sys.argv[1])
    html = sys.stdin.buffer.read().decode("utf-8", "replace")
    print(json.dumps(read(options["url"], html)), flush=True)


if __name__ == "__main__":
    main()
