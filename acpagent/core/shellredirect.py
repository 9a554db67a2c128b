"""Redirections in a syntax tree, here-documents among them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from acpagent.core.shellexpand import WORDS, Expansions, Flow
from acpagent.core.shellparse import Redirect, Word
from acpagent.core.shellwords import Unreadable, utf8

if TYPE_CHECKING:
    from tree_sitter import Node

REDIRECTS = frozenset({"file_redirect", "heredoc_redirect", "herestring_redirect"})
_FILE_OPERATORS = frozenset({"<", ">", ">>", "<>", ">|", "&>", "&>>", "<&", ">&", "<&-", ">&-"})
_BEFORE_REDIRECT = re.compile(r"(?:\A|[\s;&|()])(?:\d+|\{\w+\})\Z")
_QUOTED_END = re.compile(r"[\\'\"]")


class Redirections(Expansions):
    """Reads redirections. Commands that the tree hangs on a here-document go to `statement`."""

    def statement(self, node: Node, flow: Flow) -> None:
        raise NotImplementedError

    def redirection(self, node: Node, flow: Flow) -> tuple[tuple[Redirect, ...], tuple[Word, ...]]:
        """The redirections in a node, and the words of the command that the tree counts among them."""
        if node.type == "heredoc_redirect":
            return self._heredoc(node, flow)
        children = self.children(node)
        fd = None
        if children and children[0].type == "file_descriptor":
            fd = self._descriptor(children.pop(0), node)
        elif _BEFORE_REDIRECT.search(self.text[max(0, node.start_byte - 40) : node.start_byte]):
            self.doubt("a descriptor that cannot be read")
        if not children or (children[0].type not in _FILE_OPERATORS and children[0].type != "<<<"):
            self.doubt("a redirection that cannot be read")
            return (), ()
        operator = children.pop(0).type
        self.check_apart(children)
        targets = [self.word(child, flow) for child in children if child.type in WORDS]
        if len(targets) != len(children):
            self.doubt("a redirection that cannot be read")
        if operator == "<<<":
            self.no_code(targets[:1])
            return (Redirect(operator, fd, None),), tuple(targets[1:])
        if operator.endswith("-"):
            return (Redirect(operator, fd, None),), tuple(targets)
        if not targets:
            self.doubt("a redirection without a target")
            return (), ()
        return (Redirect(operator, fd, targets[0]),), tuple(targets[1:])

    def _descriptor(self, node: Node, redirect: Node) -> int | None:
        source, start = self.source(node), node.start_byte
        before = self.text[start - 1] if start else " "
        if not source.isdigit() or before not in " \t\n;&|()" or self.text[node.end_byte] not in "<>&":
            self.doubt("a descriptor that cannot be read")
        return int(source) if source.isdigit() and len(source) < 10 else None

    def _heredoc(self, node: Node, flow: Flow) -> tuple[tuple[Redirect, ...], tuple[Word, ...]]:
        """A here-document, with all that the tree takes for a part of it."""
        redirects: list[Redirect] = []
        words: list[Word] = []
        operator = delimiter = body = end = None
        children = self.children(node, heredoc=True)
        for child in children:
            if child.type in ("<<", "<<-"):
                operator = child
            elif child.type == "heredoc_start":
                delimiter = child
            elif child.type == "heredoc_body":
                body = child
            elif child.type == "heredoc_end":
                end = child
            elif child.type in REDIRECTS:
                added, more = self.redirection(child, flow)
                redirects += added
                words += more
            elif child.type in WORDS:
                words.append(self.word(child, flow))
            elif child.is_named:  # the tree hangs what follows on the same line here
                self.statement(child, flow)
            elif child.type not in ("&&", "||"):
                self.doubt(f"a here-document that cannot be read ({child.type})")
        if operator is None or delimiter is None or end is None:
            self.doubt("a here-document without an end")
            return tuple(redirects), tuple(words)
        self._check_heredoc(node, operator, delimiter, body, end, flow)
        return (Redirect(operator.type, None, None), *redirects), tuple(words)

    def _check_heredoc(
        self, node: Node, operator: Node, delimiter: Node, body: Node | None, end: Node, flow: Flow
    ) -> None:
        """Whether bash, too, sees just these lines as the body: from the next line to the first that is the
        delimiter."""
        source = self.source(delimiter)
        try:
            quoted = bool(_QUOTED_END.search(source))
            wanted = self.read(delimiter, delimiter.start_byte, delimiter.end_byte, flow, False).text
        except Unreadable:
            self.doubt("a here-document whose end cannot be read")
            return
        line_end = self.text.find("\n", delimiter.end_byte)
        last = self.text.find("\n", end.start_byte)
        last = len(self.text) if last < 0 else last
        lines = self.text[line_end + 1 : last].split("\n")
        if operator.type == "<<-":
            lines = [line.lstrip("\t") for line in lines]
        ends = [index for index, line in enumerate(lines) if utf8(line) == wanted]
        head_end = max(
            (each.end_byte for each in node.children if each.type not in ("heredoc_body", "heredoc_end")), default=0
        )
        if line_end < 0 or head_end > line_end or ends != [len(lines) - 1]:
            self.doubt("a here-document whose end cannot be told")
        text = "\n".join(lines[:-1])
        if not quoted:
            self._open_heredoc(body, text, flow)

    def _open_heredoc(self, body: Node | None, text: str, flow: Flow) -> None:
        """The body of a here-document in which expansions count."""
        nested = [] if body is None else self.nested_nodes(body)
        kinds = [self.visit(each, flow) for each in nested]
        known = [self.source(each) for each in nested]
        lost = any(text.count(opener) != sum(each.count(opener) for each in known) for opener in ("$(", "${"))
        unknown = any(opener in text for opener in ("`", "$((", "$[", "\\\n"))
        if lost or unknown or any("computed" in each for each in kinds):
            self.doubt("a here-document with expansions that cannot be read")
