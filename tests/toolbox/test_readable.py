from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acpagent.toolbox import readable
from acpagent.toolbox.readable import read

URL = "https://example.org/docs/page"


def text(html: str) -> str:
    return str(read(URL, html)["text"])


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("plain", "plain"),
        ("<p>a  b\n c</p><p>d", "a b c\n\nd"),
        ("a<br>b<br><br>c", "a\nb\nc"),
        ("<h1>One</h1>x<h3>Two <i>three</i></h3>", "# One\n\nx\n\n### Two three"),
        ("x &amp; &lt;b&gt; &nbsp;y &#233;", "x & <b> y é"),
        ("<b>bold</b> and <em>more</em>", "bold and more"),
        ("use <code>f( x )</code>.", "use `f( x )`."),
        ("<hr>", "---"),
        ("a<hr>b", "a\n\n---\n\nb"),
        ("<img alt='A picture' src=x><img src=y>", "![A picture]"),
        ("<div><div><div>x</div></div></div>", "x"),
        ("", ""),
        ("<p> </p>", ""),
    ],
)
def test_text(html, expected):
    assert text(html) == expected


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<a href='https://a.org/x'>y</a>", "[y](https://a.org/x)"),
        ("a <a href=other>b c</a> d", "a [b c](https://example.org/docs/other) d"),
        ("a<a href='/x'> b </a>c", "a [b](https://example.org/x) c"),
        ("<a href='//a.org'>x</a>", "[x](https://a.org)"),
        ("<a href='https://a.org'>https://a.org</a>", "https://a.org"),
        ("<a href='a b(c)'>x</a>", "[x](https://example.org/docs/a%20b(c%29)"),
        ("<a href='#here'>x</a>", "x"),
        ("<a href='javascript:go()'>x</a>", "x"),
        ("<a href='data:text/html,x'>x</a>", "x"),
        ("<a href='mailto:a@b.org'>x</a>", "[x](mailto:a@b.org)"),
        ("<a href='x'></a>y", "y"),
        ("<a>x</a>", "x"),
        ("<a href='http://['>x</a>", "x"),
        ("<a href=a>one<a href=b>two</a>", "[one](https://example.org/docs/a)[two](https://example.org/docs/b)"),
        ("<a href=a><h2>Card</h2><p>words</p></a>", "## [Card](https://example.org/docs/a)\n\nwords"),
        ("x <a href=a><img alt=Logo></a>", "x [![Logo]](https://example.org/docs/a)"),
        ("<a href=a>never closed", "[never closed](https://example.org/docs/a)"),
    ],
)
def test_links(html, expected):
    assert text(html) == expected


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<ul><li>a<li>b</ul>", "- a\n- b"),
        ("x<ol><li>a</li> <li>b</li></ol>y", "x\n\n1. a\n2. b\n\ny"),
        ("<ul><li>a<ul><li>b<li>c</ul><li>d</ul>", "- a\n  - b\n  - c\n- d"),
        ("<ul><li><p>a</p><p>b</p></li></ul>", "- a\n  b"),
        ("<ol><li>a<ul><li>b</ul></li><li>c</ol>", "1. a\n  - b\n2. c"),
        ("<li>a", "- a"),
        ("<dl><dt>t<dd>d</dl>", "t\nd"),
        ("</ul></ol>x", "x"),
    ],
)
def test_lists(html, expected):
    assert text(html) == expected


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<table><tr><th>A<th>B<tr><td>1<td>2</table>", "A | B\n1 | 2"),
        ("<table><tr><td><p>a</p><p>b</p></td><td>c</td></tr></table>", "a b | c"),
        ("<table><tr><td><table><tr><td>a<td>b<tr><td>c</table></table>", "a | b\nc"),
        ("<table><tr><td></td><td>x</td></tr></table>", "x"),
        ("<tr><td>x</tr></table>y", "x\n\ny"),
    ],
)
def test_tables(html, expected):
    assert text(html) == expected


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<pre>a\n  b  \n\nc</pre>", "```\na\n  b\n\nc\n```"),
        ("<pre><code>\nx <b>y</b>\n</code></pre>z", "```\nx y\n```\n\nz"),
        ("<pre>a<br>b</pre>", "```\na\nb\n```"),
        ("<pre>```</pre>", "````\n```\n````"),
        ("<pre><a href=x>y</a></pre>", "```\ny\n```"),
        ("<pre> </pre>x", "x"),
        ("<ul><li>x<pre>y</pre></ul>", "- x\n  ```\ny\n  ```"),
    ],
)
def test_what_is_set_as_it_is(html, expected):
    assert text(html) == expected


def test_what_nobody_sees_is_left_out():
    hidden = "".join(f"<{tag}>no</{tag}>" for tag in ("script", "style", "template", "svg", "noscript", "iframe"))
    assert text(f"a{hidden}b<!-- no -->") == "ab"
    assert text("<svg><svg>no</svg>no</svg>x<svg/>y") == "xy"
    assert text("<script>if (a < b) { '<p>' }</script>x") == "x"
    assert read(URL, "<title>A\n b</title><svg><title>no</title></svg>x") == {"title": "A b", "text": "x", "cut": False}


def test_the_main_part_is_all_where_a_page_names_one():
    page = "<nav><a href=x>menu</a></nav><main><h1>H</h1><p>words</main><footer>end</footer>"
    assert text(page) == "# H\n\nwords"
    assert text("<nav>menu</nav><main></main>x") == "menu\n\nx"
    assert text("a<main>b") == "b"


def test_there_is_a_bound(monkeypatch):
    monkeypatch.setattr(readable, "MAX_CHARACTERS", 1000)
    for html in ("x" * 5000, "<p>x" * 5000, "<a href=a>b</a> " * 5000, "<ul>" * 200 + "<li>x" * 500):
        found = read(URL, html)
        assert found["cut"]
        assert len(str(found["text"])) < 10_000


PIECES = ["<", ">", "&", "&#", "!", "<!--", "-->", "<![CDATA[", "]]>", "<?", "x", " ", "\n", "'", '"', "/"] + [
    f"<{end}{tag}{rest}"
    for tag in ("a", "a href=x", "p", "ul", "li", "ol", "table", "tr", "td", "pre", "main", "script", "title", "svg")
    for end, rest in (("", ">"), ("/", ">"), ("", " "))
]


@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
def test_any_page_becomes_text(html):
    found = read(URL, html)
    assert isinstance(found["text"], str)
    assert not re.search(r"\n\n\n", found["text"].replace("```", ""))
