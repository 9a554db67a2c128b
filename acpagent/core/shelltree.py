"""From the syntax tree of a command line to its commands.

The grammar is nearly that of bash. Where they differ, nothing may be lost: each word is read once more by itself
(`shellwords`), what lies between words must be blank, and whatever this walk does not know is a doubt.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from acpagent.core.shellparse import Command, Redirect, Word
from acpagent.core.shellwords import Unreadable, WordReader, utf8, variable_at

if TYPE_CHECKING:
    from tree_sitter import Node

DEPTH = 40  # constructs inside one another
_WORDS = frozenset({
    "word", "number", "string", "raw_string", "ansi_c_string", "translated_string", "concatenation", "expansion",
    "simple_expansion", "arithmetic_expansion", "command_substitution", "process_substitution", "brace_expression",
    "$", "command_name", "variable_name", "special_variable_name",
})  # fmt: skip
_PATTERNS = frozenset({"extglob_pattern", "regex"})
_SUBSTITUTIONS = frozenset({"command_substitution", "process_substitution"})
_NESTED = _SUBSTITUTIONS | {"expansion", "arithmetic_expansion"}
_REDIRECTS = frozenset({"file_redirect", "heredoc_redirect", "herestring_redirect"})
_FILE_OPERATORS = frozenset({"<", ">", ">>", "<>", ">|", "&>", "&>>", "<&", ">&", "<&-", ">&-"})
_RESERVED = frozenset(
    "if then elif else fi for while until do done case esac in select function { } ! [[ ]]".split()
)  # what cannot be the name of a command where it is not quoted
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\[\d+\])?\+?=")
_BLANK = re.compile(r"(?:[ \t\n]|\\\n)*\Z")
_BEFORE_REDIRECT = re.compile(r"(?:\A|[\s;&|()])(?:\d+|\{\w+\})\Z")
_STARTS_CODE = re.compile(r"`|\$\(|[<>]\(")
_PLAIN_EXPANSION = re.compile(r"\$\{#?([A-Za-z_]\w*|[0-9*@#?$!-])\}", re.ASCII)
_WITH_OTHER = re.compile(r"\$\{([A-Za-z_]\w*|\d)(?::?[-+?]|##?|%%?)([^\\'\"{}]*)\}", re.ASCII)
_SUM = re.compile(r"[\d\s+*/%()<>=!&|^~?:,-]*")
_QUOTED_END = re.compile(r"[\\'\"]")


@dataclass(frozen=True, slots=True)
class Flow:
    """What surrounds a command."""

    piped_from: bool = False
    piped_to: bool = False
    background: bool = False
    within: tuple[str, ...] = ()

    def inside(self, *contexts: str) -> Flow:
        return replace(self, within=(*self.within, *contexts))


@dataclass(frozen=True, slots=True)
class Tail:
    """What the tree hangs on a whole list or pipeline although it belongs to the last command of it."""

    redirects: tuple[Redirect, ...] = ()
    words: tuple[Word, ...] = ()


_NO_TAIL = Tail()


class Walk:
    """One walk through one tree. `text` is the source as Latin-1, whose places are the tree's."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.commands: list[Command] = []
        self.doubts: dict[str, None] = {}

    def doubt(self, why: str) -> None:
        self.doubts[why] = None

    # Lists and compounds

    def statements(self, parent: Node, flow: Flow) -> None:
        """Everything in a node that holds statements and signs."""
        if len(flow.within) > DEPTH:
            self.doubt("too many constructs inside one another")
            return
        children = self._children(parent)
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
            children = self._children(node)
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
        if len(flow.within) > DEPTH:
            self.doubt("too many constructs inside one another")
            return
        children = self._children(node)
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
        for child in self._children(node):
            if child.type == "variable_name":
                variable = self._source(child)
            elif child.type in _WORDS:
                values.append(self._word(child, flow))
            elif child.type in ("do_group", "compound_statement"):
                values = values or [Word('"$@"', False, frozenset({"variable"}), names=("@",))]
                assigned = tuple((variable, value) for value in values)
                self.commands.append(self._command((), assigned, (), flow))
                self.statements(child, flow.inside("loop"))
            elif child.type not in ("for", "select", "in", ";", "comment"):
                self.doubt(f"a loop that cannot be read ({child.type})")

    def _c_for(self, node: Node, flow: Flow) -> None:
        self._arithmetic_command(node, flow, until="do_group")
        for child in node.children:
            if child.type in ("do_group", "compound_statement"):
                self.statements(child, flow.inside("loop"))

    def _case(self, node: Node, flow: Flow) -> None:
        for child in self._children(node):
            if child.type == "case_item":
                self._case_item(child, flow.inside("case"))
            elif child.type in _WORDS:
                self._no_code([self._word(child, flow)])
            elif child.type not in ("case", "in", "esac", ";", "comment"):
                self.doubt(f"a case that cannot be read ({child.type})")

    def _case_item(self, node: Node, flow: Flow) -> None:
        children = self._children(node)
        closed = next((index for index, child in enumerate(children) if child.type == ")"), None)
        if closed is None:
            self.doubt("a case that cannot be read")
            closed = len(children)
        for child in children[:closed]:
            if child.type in _PATTERNS or child.type in _WORDS:
                self._no_code([self._word(child, flow, pattern=True)])
            elif child.type not in ("|", "("):
                self.doubt(f"a case that cannot be read ({child.type})")
        for child in children[closed + 1 :]:
            if child.is_named:
                self.statement(child, flow)
            elif child.type not in _SIGNS:
                self.doubt(f"the sign {child.type!r}")

    def _function(self, node: Node, flow: Flow) -> None:
        self.doubt("it defines a function")
        for child in self._children(node):
            if child.type in _REDIRECTS:
                self._own_redirects(flow, Tail(*self._redirection(child, flow)))
            elif child.is_named and child.type != "word":
                self.statement(child, flow.inside("function"))

    def _assignments(self, node: Node, flow: Flow) -> None:
        nodes = [node] if node.type == "variable_assignment" else self._children(node)
        assigned = tuple(self._assignment(child, flow) for child in nodes)
        self.commands.append(self._command((), assigned, (), flow))

    def _redirect_alone(self, node: Node, flow: Flow) -> None:
        self._own_redirects(flow, Tail(*self._redirection(node, flow)))

    def _comment(self, node: Node, flow: Flow) -> None:
        """A comment begins where a word could, and ends with the line."""
        start = node.start_byte
        if start and self.text[start - 1] not in " \t\n;&|()":
            self.doubt("a # inside a word")
        if "\n" in self._source(node):
            self.doubt("a comment of several lines")

    def _unknown(self, node: Node, flow: Flow) -> None:
        """What holds the statements of a line that is broken somewhere: they are listed as far as they go."""
        inner = flow.inside("unknown")
        if len(inner.within) > DEPTH:
            return
        for child in node.children:
            if child.type in _STATEMENTS:
                self.statement(child, inner)
            elif child.type in _WORDS:
                self._word(child, inner)

    # Simple commands

    def _simple(self, node: Node, flow: Flow, tail: Tail = _NO_TAIL) -> None:
        assigned: list[tuple[str, Word]] = []
        words: list[Word] = []
        redirects: list[Redirect] = []
        test = self._source(node)[:2] if node.type == "test_command" else ""
        children = list(self._leaves(node)) if test else self._children(node)
        self._check_apart(children)
        for child in children:
            if child.type == "variable_assignment" and node.type == "command":
                assigned.append(self._assignment(child, flow))
            elif child.type in _REDIRECTS:
                added, more = self._redirection(child, flow)
                redirects += added
                words += more
            elif child.type == "variable_assignment":
                words.append(self._word(child, flow, pattern=child.child_count > 2 and self._is_array(child)))
            elif child.type in _WORDS or (child.type in _PATTERNS and test == "[["):
                words.append(self._word(child, flow, pattern=test == "[["))
            elif child.type in _TEST_SIGNS.get(test, ()) or (not words and child.type in _DECLARERS):
                words.append(Word(self._source(child), True, lead=self._source(child)))
            else:
                self.doubt(f"a command that cannot be read ({child.type})")
        name = node.child_by_field_name("name")
        if name is not None and self._source(name) in _RESERVED:
            self.doubt(f"{self._source(name)} where a command is expected")
        self.commands.append(
            self._command((*words, *tail.words), tuple(assigned), (*redirects, *tail.redirects), flow)
        )

    def _leaves(self, node: Node) -> Iterator[Node]:
        """The words and signs of a test, whatever the tree takes them for."""
        stack = [node]
        while stack:
            current = stack.pop()
            if current.type in _TEST_GROUPS:
                stack += reversed(self._children(current))
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
            self._visit_all(node, flow)
            return "", Word(self._source(node), False)
        if self._is_array(node):
            for child in self._children(node.children[-1]):
                if child.type in _WORDS:
                    self._no_code([self._word(child, flow)])
                elif child.type not in ("(", ")", "comment"):
                    self.doubt("an array that cannot be read")
            return found[1], Word(self.text[found.end() : node.end_byte], False, frozenset({"array"}))
        value = self._span(node, found.end(), node.end_byte, flow) if found.end() < node.end_byte else Word("", True)
        return found[1], value

    @staticmethod
    def _is_array(node: Node) -> bool:
        return node.child_count > 0 and node.children[-1].type == "array"

    # Redirections

    def _redirected(self, node: Node, flow: Flow, tail: Tail) -> None:
        body = node.child_by_field_name("body")
        redirects: list[Redirect] = []
        words: list[Word] = []
        piped = False
        for child in self._children(node):
            if body is not None and child.id == body.id:
                continue
            if child.type not in _REDIRECTS:
                self.doubt(f"a redirection that cannot be read ({child.type})")
                continue
            piped = piped or any(each.type == "pipeline" for each in child.children)
            added, more = self._redirection(child, flow)
            redirects += added
            words += more
        own = Tail((*redirects, *tail.redirects), (*words, *tail.words))
        inner = replace(flow, piped_to=True) if piped else flow
        if body is None:
            self.commands.append(self._command(own.words, (), own.redirects, inner))
        else:
            self.statement(body, inner, own)

    def _redirection(self, node: Node, flow: Flow) -> tuple[tuple[Redirect, ...], tuple[Word, ...]]:
        """The redirections in a node, and the words of the command that the tree counts among them."""
        if node.type == "heredoc_redirect":
            return self._heredoc(node, flow)
        children = self._children(node)
        fd = None
        if children and children[0].type == "file_descriptor":
            fd = self._descriptor(children.pop(0), node)
        elif _BEFORE_REDIRECT.search(self.text[max(0, node.start_byte - 40) : node.start_byte]):
            self.doubt("a descriptor that cannot be read")
        if not children or (children[0].type not in _FILE_OPERATORS and children[0].type != "<<<"):
            self.doubt("a redirection that cannot be read")
            return (), ()
        operator = children.pop(0).type
        self._check_apart(children)
        targets = [self._word(child, flow) for child in children if child.type in _WORDS]
        if len(targets) != len(children):
            self.doubt("a redirection that cannot be read")
        if operator == "<<<":
            self._no_code(targets[:1])
            return (Redirect(operator, fd, None),), tuple(targets[1:])
        if operator.endswith("-"):
            return (Redirect(operator, fd, None),), tuple(targets)
        if not targets:
            self.doubt("a redirection without a target")
            return (), ()
        return (Redirect(operator, fd, targets[0]),), tuple(targets[1:])

    def _descriptor(self, node: Node, redirect: Node) -> int | None:
        source, start = self._source(node), node.start_byte
        before = self.text[start - 1] if start else " "
        if not source.isdigit() or before not in " \t\n;&|()" or self.text[node.end_byte] not in "<>&":
            self.doubt("a descriptor that cannot be read")
        return int(source) if source.isdigit() and len(source) < 10 else None

    def _heredoc(self, node: Node, flow: Flow) -> tuple[tuple[Redirect, ...], tuple[Word, ...]]:
        """A here-document, with all that the tree takes for a part of it."""
        redirects: list[Redirect] = []
        words: list[Word] = []
        operator = delimiter = body = end = None
        children = self._children(node, heredoc=True)
        for child in children:
            if child.type in ("<<", "<<-"):
                operator = child
            elif child.type == "heredoc_start":
                delimiter = child
            elif child.type == "heredoc_body":
                body = child
            elif child.type == "heredoc_end":
                end = child
            elif child.type in _REDIRECTS:
                added, more = self._redirection(child, flow)
                redirects += added
                words += more
            elif child.type in _WORDS:
                words.append(self._word(child, flow))
            elif child.type in _STATEMENTS:
                self.statement(child, flow)
            elif child.type not in ("&&", "||", "file_descriptor"):
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
        source = self._source(delimiter)
        try:
            quoted = bool(_QUOTED_END.search(source))
            wanted = self._read(delimiter, delimiter.start_byte, delimiter.end_byte, flow, False).text
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
        nested = [] if body is None else self._nested_nodes(body)
        kinds = [self._visit(each, flow) for each in nested]
        known = [self._source(each) for each in nested]
        lost = any(text.count(opener) != sum(each.count(opener) for each in known) for opener in ("$(", "${"))
        unknown = any(opener in text for opener in ("`", "$((", "$[", "\\\n"))
        if lost or unknown or any("computed" in each for each in kinds):
            self.doubt("a here-document with expansions that cannot be read")

    # Words

    def _no_code(self, words: Sequence[Word]) -> None:
        """Words that no command has: nobody would see that they may run code."""
        if any("computed" in word.kinds for word in words):
            self.doubt("an expansion that may run code")

    def _word(self, node: Node, flow: Flow, *, pattern: bool = False) -> Word:
        return self._span(node, node.start_byte, node.end_byte, flow, pattern)

    def _span(self, node: Node, start: int, end: int, flow: Flow, pattern: bool = False) -> Word:
        try:
            return self._read(node, start, end, flow, pattern)
        except Unreadable as reason:
            self.doubt(str(reason))
            return Word(utf8(self.text[start:end]), False, frozenset({"computed"}))

    def _read(self, node: Node, start: int, end: int, flow: Flow, pattern: bool) -> Word:
        found = {self._start_of(each): each for each in self._nested_nodes(node)}
        visited: set[int] = set()

        def nested(place: int) -> tuple[str, int] | None:
            each = found.get(place)
            if each is None:
                return None
            visited.add(place)
            return self._visit(each, flow), each.end_byte

        word = WordReader(self.text, start, end, nested, pattern=pattern).read()
        if len(visited) != len(found):
            raise Unreadable("an expansion where none should be")
        return word

    def _start_of(self, node: Node) -> int:
        """Where an expansion begins; the tree lets some begin at the blanks before."""
        text = self._source(node)
        return node.start_byte + len(text) - len(text.lstrip(" \t\n"))

    def _nested_nodes(self, node: Node) -> list[Node]:
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

    def _visit_all(self, node: Node, flow: Flow) -> None:
        for each in self._nested_nodes(node):
            self._visit(each, flow)

    def _visit(self, node: Node, flow: Flow) -> str:
        """Go through one expansion. Says what kinds it is of, and which variables it reads as `$name`."""
        if node.is_error or node.is_missing:
            self.doubt("it is no complete command")
        if len(flow.within) > DEPTH:
            self.doubt("too many constructs inside one another")
            return "computed"
        if node.type in _SUBSTITUTIONS:
            self._substitution(node, flow)
            return "process" if node.type == "process_substitution" else "substitution"
        source = self._source(node)
        if node.type == "arithmetic_expansion":
            return self._arithmetic(node, source[3:-2], flow)
        inner = flow.inside("expansion")
        for child in node.children:
            self._visit_all(child, inner)
        plain = _PLAIN_EXPANSION.fullmatch(source) or _WITH_OTHER.fullmatch(source)
        if plain is None or (plain.re is _WITH_OTHER and _STARTS_CODE.search(source)):
            if _STARTS_CODE.search(self._without(node)):
                self.doubt("an expansion that cannot be read")
            return "computed"
        return f"variable ${plain[1]}"

    def _without(self, node: Node) -> str:
        """The source of an expansion without the substitutions in it, which were looked at by themselves."""
        inner = [each for child in node.children for each in self._nested_nodes(child)]
        pieces, at = [], node.start_byte
        for each in sorted(inner, key=lambda each: each.start_byte):
            pieces.append(self.text[at : each.start_byte])
            at = each.end_byte
        return "".join((*pieces, self.text[at : node.end_byte]))

    def _substitution(self, node: Node, flow: Flow) -> None:
        source = self._source(node).lstrip(" \t\n")
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
            self._visit_all(child, inner)
        if not self._source(node).startswith("$((") or not _balanced(body):
            self.doubt("a sum that cannot be read")
        if _STARTS_CODE.search(self._without(node)):
            self.doubt("a sum that cannot be read")
        return "arithmetic" if _SUM.fullmatch(body) else "arithmetic computed"

    def _arithmetic_command(self, node: Node, flow: Flow, until: str = "") -> None:
        """`(( ))`, or the head of a loop that is written so. It can run what stands in the values of variables."""
        stop = next((child.start_byte for child in node.children if child.type == until), node.end_byte)
        source = self.text[node.start_byte : stop]
        for child in node.children:
            if child.start_byte < stop:
                self._visit_all(child, flow.inside("arithmetic"))
        body = source[source.find("((") + 2 : source.rfind("))")]
        if "))" not in source or not _balanced(body) or _STARTS_CODE.search(body):
            self.doubt("a sum that cannot be read")
        plain = _SUM.fullmatch(body) is not None
        value = Word(utf8(body), plain, frozenset() if plain else frozenset({"computed"}))
        self.commands.append(self._command((Word("((", True, lead="(("), value), (), (), flow))

    # The tree

    def _source(self, node: Node) -> str:
        return self.text[node.start_byte : node.end_byte]

    def _children(self, node: Node, *, heredoc: bool = False) -> list[Node]:
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

    def _check_apart(self, children: Sequence[Node]) -> None:
        """Words that touch are one word to bash, and so are those with nothing but a broken line between them."""
        for left, right in zip(children, children[1:], strict=False):
            between = self.text[left.end_byte : right.start_byte]
            joins = right.type in _WORDS or right.type == "variable_assignment"
            if joins and left.type not in _TEST_OPENERS and not between.replace("\\\n", ""):
                self.doubt("words that cannot be told apart")


def _balanced(body: str) -> bool:
    """Whether the parentheses of a sum close inside it: otherwise bash may take it for a subshell."""
    depth = 0
    for char in body:
        depth += (char == "(") - (char == ")")
        if depth < 0:
            return False
    return depth == 0


_SIGNS = frozenset(
    "; & ;; ;& ;;& && || | |& ( ) { } do done then fi if elif else while until $( ` <( >( !".split()
) | {"\n"}
_TEST_OPENERS = frozenset({"("})
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
