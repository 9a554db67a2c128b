"""The words of a syntax tree, and what is expanded in them.

The grammar is nearly that of bash. Where they differ, nothing may be lost: each word is read once more by itself
(`shellwords`), what lies between words must be blank, and whatever is not known is a doubt.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from acpagent.core.shellparse import Command, Word
from acpagent.core.shellwords import Unreadable, WordReader, utf8

if TYPE_CHECKING:
    from tree_sitter import Node

DEPTH = 40  # constructs inside one another
WORDS = frozenset({
    "word", "number", "string", "raw_string", "ansi_c_string", "translated_string", "concatenation", "expansion",
    "simple_expansion", "arithmetic_expansion", "command_substitution", "process_substitution", "brace_expression",
    "$", "command_name", "variable_name", "special_variable_name",
})  # fmt: skip
_SUBSTITUTIONS = frozenset({"command_substitution", "process_substitution"})
_NESTED = _SUBSTITUTIONS | {"expansion", "arithmetic_expansion"}
_TEST_OPENERS = frozenset({"("})
_BLANK = re.compile(r"(?:[ \t\n]|\\\n)*\Z")
STARTS_CODE = re.compile(r"`|\$\(|[<>]\(")
_PLAIN_EXPANSION = re.compile(r"\$\{#?([A-Za-z_]\w*|[0-9*@#?$!-])\}", re.ASCII)
_WITH_OTHER = re.compile(r"\$\{([A-Za-z_]\w*|\d)(?::?[-+?]|##?|%%?)([^\\'\"{}]*)\}", re.ASCII)
SUM = re.compile(r"[\d\s+*/%()<>=!&|^~?:,-]*")


@dataclass(frozen=True, slots=True)
class Flow:
    """What surrounds a command."""

    piped_from: bool = False
    piped_to: bool = False
    background: bool = False
    within: tuple[str, ...] = ()

    def inside(self, *contexts: str) -> Flow:
        return replace(self, within=(*self.within, *contexts))


class Expansions:
    """Reads words. `text` is the source as Latin-1, whose places are the tree's; `commands` and `doubts` are what
    was found. What is inside of substitutions goes to `statements`, which the walk through the whole tree has."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.commands: list[Command] = []
        self.doubts: dict[str, None] = {}

    def statements(self, parent: Node, flow: Flow) -> None:
        raise NotImplementedError

    def doubt(self, why: str) -> None:
        self.doubts[why] = None

    def is_too_deep(self, flow: Flow) -> bool:
        if len(flow.within) > DEPTH:
            self.doubt("too many constructs inside one another")
            return True
        return False

    def no_code(self, words: Sequence[Word]) -> None:
        """Words that no command has: nobody would see that they may run code."""
        if any("computed" in word.kinds for word in words):
            self.doubt("an expansion that may run code")

    def word(self, node: Node, flow: Flow, *, pattern: bool = False) -> Word:
        return self.span(node, node.start_byte, node.end_byte, flow, pattern)

    def span(self, node: Node, start: int, end: int, flow: Flow, pattern: bool = False) -> Word:
        try:
            return self.read(node, start, end, flow, pattern)
        except Unreadable as reason:
            self.doubt(str(reason))
            return Word(utf8(self.text[start:end]), False, frozenset({"computed"}))

    def read(self, node: Node, start: int, end: int, flow: Flow, pattern: bool) -> Word:
        found = {self._start_of(each): each for each in self.nested_nodes(node)}
        visited: set[int] = set()

        def nested(place: int) -> tuple[str, int] | None:
            each = found.get(place)
            if each is None:
                return None
            visited.add(place)
            return self.visit(each, flow), each.end_byte

        word = WordReader(self.text, start, end, nested, pattern=pattern).read()
        if len(visited) != len(found):
            raise Unreadable("an expansion where none should be")
        return word

    def _start_of(self, node: Node) -> int:
        """Where an expansion begins; the tree lets some begin at the blanks before."""
        text = self.source(node)
        return node.start_byte + len(text) - len(text.lstrip(" \t\n"))

    def nested_nodes(self, node: Node) -> list[Node]:
        """The outermost expansions in a node."""
        result: list[Node] = []
        stack = [node]
        while stack:
            current = stack.pop()
            if current.type in _NESTED:
                result.append(current)
            elif current.child_count:
                stack += current.children
        return result

    def visit_all(self, node: Node, flow: Flow) -> None:
        for each in self.nested_nodes(node):
            self.visit(each, flow)

    def visit(self, node: Node, flow: Flow) -> str:
        """Go through one expansion. Says what kinds it is of, and which variables it reads as `$name`."""
        if node.is_error or node.is_missing:
            self.doubt("it is no complete command")
        if self.is_too_deep(flow):
            return "computed"
        if node.type in _SUBSTITUTIONS:
            self._substitution(node, flow)
            return "process" if node.type == "process_substitution" else "substitution"
        source = self.source(node)
        if node.type == "arithmetic_expansion":
            return self._arithmetic(node, source[3:-2], flow)
        inner = flow.inside("expansion")
        for child in node.children:
            self.visit_all(child, inner)
        plain = _PLAIN_EXPANSION.fullmatch(source) or _WITH_OTHER.fullmatch(source)
        if plain is None or (plain.re is _WITH_OTHER and STARTS_CODE.search(source)):
            if STARTS_CODE.search(self._without(node)):
                self.doubt("an expansion that cannot be read")
            return "computed"
        return f"variable ${plain[1]}"

    def _without(self, node: Node) -> str:
        """The source of an expansion without the substitutions in it, which were looked at by themselves."""
        inner = [each for child in node.children for each in self.nested_nodes(child)]
        pieces, at = [], node.start_byte
        for each in sorted(inner, key=lambda each: each.start_byte):
            pieces.append(self.text[at : each.start_byte])
            at = each.end_byte
        return "".join((*pieces, self.text[at : node.end_byte]))

    def _substitution(self, node: Node, flow: Flow) -> None:
        source = self.source(node).lstrip(" \t\n")
        closes = "`" if source.startswith("`") else ")"
        opens = closes == "`" or source.startswith(("$(", "<(", ">("))
        if not opens or not source.endswith(closes) or len(source) < 2 or source.startswith("$(("):
            self.doubt("a substitution that cannot be read")
        if closes == "`" and ("\\" in source or source.count("`") != 2):
            self.doubt("quotes inside backquotes")
        self.statements(node, flow.inside("substitution"))

    def _arithmetic(self, node: Node, body: str, flow: Flow) -> str:
        inner = flow.inside("arithmetic")
        for child in node.children:
            self.visit_all(child, inner)
        if not self.source(node).startswith("$((") or not balanced(body):
            self.doubt("a sum that cannot be read")
        if STARTS_CODE.search(self._without(node)[3:-2]):
            self.doubt("a sum that cannot be read")
        return "arithmetic" if SUM.fullmatch(body) else "arithmetic computed"

    def source(self, node: Node) -> str:
        return self.text[node.start_byte : node.end_byte]

    def children(self, node: Node, *, heredoc: bool = False) -> list[Node]:
        """The children of a node, between which nothing may be hidden."""
        children = list(node.children)
        at = node.start_byte
        for child in children:
            hidden = self.text[at : child.start_byte]
            if not _BLANK.match(hidden) or child.is_missing or child.is_error:
                self.doubt("a part that cannot be read")
            at = max(at, child.end_byte)
        if not _BLANK.match(self.text[at : node.end_byte]):
            self.doubt("a part that cannot be read")
        return children

    def check_apart(self, children: Sequence[Node]) -> None:
        """Words that touch are one word to bash, and so are those with nothing but a broken line between them."""
        for left, right in pairwise(children):
            between = self.text[left.end_byte : right.start_byte]
            joins = right.type in WORDS or right.type == "variable_assignment"
            if joins and left.type not in _TEST_OPENERS and not between.replace("\\\n", ""):
                self.doubt("words that cannot be told apart")


def balanced(body: str) -> bool:
    """Whether the parentheses of a sum close inside it: otherwise bash may take it for a subshell."""
    depth = 0
    for char in body:
        depth += (char == "(") - (char == ")")
        if depth < 0:
            return False
    return depth == 0
