"""From the syntax tree of a command line to its commands.

The grammar is nearly that of bash. Where they differ, nothing may be lost: each word is read once more by itself
(`shellwords`), what lies between words must be blank, and whatever this walk does not know is a doubt.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from acpagent.core.shellexpand import STARTS_CODE, SUM, WORDS, Flow, balanced
from acpagent.core.shellparse import COMPOUND, Command, Redirect, Word
from acpagent.core.shellredirect import REDIRECTS, Redirections
from acpagent.core.shellwords import utf8

if TYPE_CHECKING:
    from tree_sitter import Node

_PATTERNS = frozenset({"extglob_pattern", "regex"})
_PLACE = re.compile(r"\[\d+\]\+?=", re.ASCII)
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\[\d+\])?\+?=")


@dataclass(frozen=True, slots=True)
class Tail:
    """What the tree hangs on a whole list or pipeline although it belongs to the last command of it."""

    redirects: tuple[Redirect, ...] = ()
    words: tuple[Word, ...] = ()


_NO_TAIL = Tail()


class Walk(Redirections):
    """One walk through one tree."""

    # Lists and compounds

    def statements(self, parent: Node, flow: Flow) -> None:
        """Everything in a node that holds statements and signs."""
        if self.is_too_deep(flow):
            return
        children = self.children(parent)
        for index, child in enumerate(children):
            following = children[index + 1].type if index + 1 < len(children) else ""
            if child.is_named:
                self.statement(child, replace(flow, background=True) if following == "&" else flow)
            elif child.type not in _SIGNS:
                self.doubt(f"the sign {child.type!r}")

    def statement(self, node: Node, flow: Flow, tail: Tail = _NO_TAIL) -> None:
        if node.is_missing or node.is_error:
            self.doubt("it is no complete command")
        kind = node.type
        if kind in ("command", "test_command", "declaration_command", "unset_command"):
            self._simple(node, flow, tail)
        elif kind == "redirected_statement":
            self._redirected(node, flow, tail)
        elif kind in ("list", "pipeline", "negated_command"):
            self._chain(node, flow, tail)
        else:
            self._own_redirects(flow, tail)
            handler = _COMPOUNDS.get(kind)
            if handler is None:
                self.doubt(f"a part of an unknown kind ({kind})")
                handler = "_unknown"
            getattr(self, handler)(node, flow)

    def _own_redirects(self, flow: Flow, tail: Tail) -> None:
        if tail.words:
            self.doubt("words after a compound command")
        if tail.redirects:
            self.commands.append(self._command((), (), tail.redirects, flow))

    def _chain(self, node: Node, flow: Flow, tail: Tail) -> None:
        """A list, a pipeline, a negation. Lists lean to the left as deep as they are long."""
        parts: list[Node] = []
        while node.type == "list":
            children = self.children(node)
            if not children or any(child.type not in _SIGNS for child in children[1:] if not child.is_named):
                self.doubt("a list that cannot be read")
            parts += reversed([child for child in children[1:] if child.is_named])
            if not children:
                break
            node = children[0]
        parts.append(node)
        parts.reverse()
        if len(parts) == 1 and node.type in ("pipeline", "negated_command"):
            self._pipe(node, flow.inside("negation") if node.type == "negated_command" else flow, tail)
            return
        for part in parts[:-1]:
            self.statement(part, flow)
        self.statement(parts[-1], flow, tail)

    def _pipe(self, node: Node, flow: Flow, tail: Tail) -> None:
        if self.is_too_deep(flow):
            return
        children = self.children(node)
        signs = [child.type for child in children if not child.is_named]
        if any(sign not in ("|", "|&", "!") for sign in signs):
            self.doubt("a pipeline that cannot be read")
        leading = bool(children) and children[0].type in ("|", "|&")
        parts = [child for child in children if child.is_named and child.type != "comment"]
        for index, part in enumerate(parts):
            last = index == len(parts) - 1
            inner = replace(
                flow,
                piped_from=flow.piped_from or index > 0 or leading,
                piped_to=flow.piped_to or not last,
            )
            self.statement(part, inner, tail if last else _NO_TAIL)

    def _program(self, node: Node, flow: Flow) -> None:
        self.statements(node, flow)

    def _block(self, node: Node, flow: Flow) -> None:
        if self.text.startswith("((", node.start_byte):
            self._arithmetic_command(node, flow)
            return
        self.statements(node, flow.inside("subshell" if node.type == "subshell" else "group"))

    def _branches(self, node: Node, flow: Flow) -> None:
        self.statements(node, flow.inside("condition"))

    def _loop(self, node: Node, flow: Flow) -> None:
        self.statements(node, flow.inside("loop"))

    def _for(self, node: Node, flow: Flow) -> None:
        variable = ""
        values: list[Word] = []
        for child in self.children(node):
            if child.type == "variable_name":
                variable = self.source(child)
            elif child.type in WORDS:
                values.append(self.word(child, flow))
            elif child.type in ("do_group", "compound_statement"):
                values = values or [Word('"$@"', False, frozenset({"variable"}), names=("@",))]
                assigned = tuple((variable, value) for value in values)
                self.commands.append(self._command((), assigned, (), flow))
                if any("glob" in value.kinds for value in values):  # unlike those of an assignment they are looked up
                    self.commands.append(self._command((Word(":", True, lead=":"), *values), (), (), flow))
                self.statements(child, flow.inside("loop"))
            elif child.type not in ("for", "select", "in", ";", "comment"):
                self.doubt(f"a loop that cannot be read ({child.type})")

    def _c_for(self, node: Node, flow: Flow) -> None:
        self._arithmetic_command(node, flow, until="do_group")
        for child in node.children:
            if child.type in ("do_group", "compound_statement"):
                self.statements(child, flow.inside("loop"))

    def _case(self, node: Node, flow: Flow) -> None:
        for child in self.children(node):
            if child.type == "case_item":
                self._case_item(child, flow.inside("case"))
            elif child.type in WORDS:
                self.no_code([self.word(child, flow)])
            elif child.type not in ("case", "in", "esac", ";", "comment"):
                self.doubt(f"a case that cannot be read ({child.type})")

    def _case_item(self, node: Node, flow: Flow) -> None:
        children = self.children(node)
        closed = next((index for index, child in enumerate(children) if child.type == ")"), None)
        if closed is None:
            self.doubt("a case that cannot be read")
            closed = len(children)
        for child in children[:closed]:
            if child.type in _PATTERNS or child.type in WORDS:
                self.no_code([self.word(child, flow, pattern=True)])
            elif child.type not in ("|", "("):
                self.doubt(f"a case that cannot be read ({child.type})")
        for child in children[closed + 1 :]:
            if child.is_named:
                self.statement(child, flow)
            elif child.type not in _SIGNS:
                self.doubt(f"the sign {child.type!r}")

    def _function(self, node: Node, flow: Flow) -> None:
        self.doubt("it defines a function")
        for child in self.children(node):
            if child.type in REDIRECTS:
                self._own_redirects(flow, Tail(*self.redirection(child, flow)))
            elif child.is_named and child.type != "word":
                self.statement(child, flow.inside("function"))

    def _assignments(self, node: Node, flow: Flow) -> None:
        nodes = [node] if node.type == "variable_assignment" else self.children(node)
        assigned = tuple(self._assignment(child, flow) for child in nodes)
        self.commands.append(self._command((), assigned, (), flow))

    def _redirect_alone(self, node: Node, flow: Flow) -> None:
        self._own_redirects(flow, Tail(*self.redirection(node, flow)))

    def _comment(self, node: Node, flow: Flow) -> None:
        """A comment begins where a word could, and ends with the line."""
        start = node.start_byte
        if start and self.text[start - 1] not in " \t\n;&|()":
            self.doubt("a # inside a word")
        if "\n" in self.source(node):
            self.doubt("a comment of several lines")

    def _unknown(self, node: Node, flow: Flow) -> None:
        """What holds the statements of a line that is broken somewhere: they are listed as far as they go."""
        inner = flow.inside("unknown")
        if self.is_too_deep(inner):
            return
        for child in node.children:
            if child.type in _STATEMENTS:
                self.statement(child, inner)
            elif child.type in WORDS:
                self.word(child, inner)

    # Simple commands

    def _simple(self, node: Node, flow: Flow, tail: Tail = _NO_TAIL) -> None:
        assigned: list[tuple[str, Word]] = []
        words: list[Word] = []
        redirects: list[Redirect] = []
        test = self.source(node)[:2] if node.type == "test_command" else ""
        children = list(self._leaves(node)) if test else self.children(node)
        self.check_apart(children)
        for child in children:
            if child.type == "variable_assignment" and node.type == "command":
                assigned.append(self._assignment(child, flow))
            elif child.type in REDIRECTS:
                added, more = self.redirection(child, flow)
                redirects += added
                words += more
            elif child.type == "variable_assignment" and self._is_array(child):
                self._subscripts(child)
                array = self.word(child, flow, pattern=True)
                words.append(replace(array, static=False, kinds=array.kinds | {"array"}))
            elif child.type == "variable_assignment":
                words.append(self.word(child, flow))
            elif child.type in WORDS or (child.type in _PATTERNS and test == "[["):
                words.append(self.word(child, flow, pattern=test == "[["))
            elif child.type in _TEST_SIGNS.get(test, ()) or (not words and child.type in _DECLARERS):
                words.append(Word(self.source(child), True, lead=self.source(child)))
            else:
                self.doubt(f"a command that cannot be read ({child.type})")
        name = node.child_by_field_name("name")
        if name is not None and self.source(name) in COMPOUND:
            self.doubt(f"{self.source(name)} where a command is expected")
        self.commands.append(self._command((*words, *tail.words), tuple(assigned), (*redirects, *tail.redirects), flow))

    def _leaves(self, node: Node) -> Iterator[Node]:
        """The words and signs of a test, whatever the tree takes them for."""
        stack = [node]
        while stack:
            current = stack.pop()
            if current.type in _TEST_GROUPS:
                stack += reversed(self.children(current))
            else:
                yield current

    def _command(
        self,
        words: tuple[Word, ...],
        assigned: tuple[tuple[str, Word], ...],
        redirects: tuple[Redirect, ...],
        flow: Flow,
    ) -> Command:
        return Command(words, assigned, redirects, flow.piped_from, flow.piped_to, flow.background, flow.within)

    def _assignment(self, node: Node, flow: Flow) -> tuple[str, Word]:
        found = _ASSIGNMENT.match(self.text, node.start_byte, node.end_byte)
        if found is None or node.type != "variable_assignment":
            self.doubt("an assignment that cannot be read")
            self.visit_all(node, flow)
            return "", Word(utf8(self.source(node)), False)
        if self._is_array(node):
            self._subscripts(node)
            for child in self.children(node.children[-1]):
                if child.type in WORDS:
                    self.no_code([self.word(child, flow)])
                elif child.type not in ("(", ")", "comment"):
                    self.doubt("an array that cannot be read")
            array = utf8(self.text[found.end() : node.end_byte])
            return found[1], Word(array, False, frozenset({"array"}))
        value = self.span(node, found.end(), node.end_byte, flow) if found.end() < node.end_byte else Word("", True)
        return found[1], value

    def _subscripts(self, node: Node) -> None:
        """The places of a list, as in `([x]=1)`, are sums, which can run what stands in variables."""
        for child in node.children[-1].children:
            source = self.source(child)
            if source.startswith("[") and not _PLACE.match(source):
                self.doubt("a place in a list that cannot be read")

    @staticmethod
    def _is_array(node: Node) -> bool:
        return node.child_count > 0 and node.children[-1].type == "array"

    def _redirected(self, node: Node, flow: Flow, tail: Tail) -> None:
        body = node.child_by_field_name("body")
        redirects: list[Redirect] = []
        words: list[Word] = []
        piped = False
        for child in self.children(node):
            if body is not None and child.id == body.id:
                continue
            if child.type not in REDIRECTS:
                self.doubt(f"a redirection that cannot be read ({child.type})")
                continue
            piped = piped or any(each.type == "pipeline" for each in child.children)
            added, more = self.redirection(child, flow)
            redirects += added
            words += more
        own = Tail((*redirects, *tail.redirects), (*words, *tail.words))
        inner = replace(flow, piped_to=True) if piped else flow
        if body is None:
            self.commands.append(self._command(own.words, (), own.redirects, inner))
        else:
            self.statement(body, inner, own)

    def _arithmetic_command(self, node: Node, flow: Flow, until: str = "") -> None:
        """`(( ))`, or the head of a loop that is written so. It can run what stands in the values of variables."""
        stop = next((child.start_byte for child in node.children if child.type == until), node.end_byte)
        source = self.text[node.start_byte : stop]
        for child in node.children:
            if child.start_byte < stop:
                self.visit_all(child, flow.inside("arithmetic"))
        body = source[source.find("((") + 2 : source.rfind("))")]
        if "))" not in source or not balanced(body) or STARTS_CODE.search(body):
            self.doubt("a sum that cannot be read")
        plain = SUM.fullmatch(body) is not None
        value = Word(utf8(body), plain, frozenset() if plain else frozenset({"computed"}))
        self.commands.append(self._command((Word("((", True, lead="(("), value), (), (), flow))


_SIGNS = frozenset({
    ";", "&", ";;", ";&", ";;&", "&&", "||", "|", "|&", "(", ")", "{", "}", "do", "done", "then", "fi", "if", "elif",
    "else", "while", "until", "$(", "`", "<(", ">(", "!", "\n",
})  # fmt: skip
_TEST_GROUPS = frozenset(
    {"test_command", "unary_expression", "binary_expression", "parenthesized_expression", "ternary_expression"}
)
_TEST_SIGNS = {
    "[[": frozenset({"[[", "]]", "&&", "||", "!", "(", ")", "<", ">", "=", "==", "!=", "=~", "test_operator"}),
    "[ ": frozenset({"[", "]", "!", "=", "==", "!=", "test_operator"}),
}
_DECLARERS = frozenset({"export", "declare", "typeset", "readonly", "local", "unset", "unsetenv"})
_COMPOUNDS = {
    "program": "_program", "compound_statement": "_block", "subshell": "_block", "if_statement": "_branches",
    "elif_clause": "_branches", "else_clause": "_branches", "while_statement": "_loop", "do_group": "_loop",
    "for_statement": "_for", "c_style_for_statement": "_c_for", "case_statement": "_case",
    "function_definition": "_function", "variable_assignment": "_assignments",
    "variable_assignments": "_assignments", "comment": "_comment", "file_redirect": "_redirect_alone",
    "ERROR": "_unknown",
}  # fmt: skip
_STATEMENTS = frozenset(_COMPOUNDS) - {"comment", "file_redirect"} | {
    "command", "test_command", "declaration_command", "unset_command", "redirected_statement", "list", "pipeline",
    "negated_command",
}  # fmt: skip
