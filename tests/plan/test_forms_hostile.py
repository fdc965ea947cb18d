"""Whatever users wrote and however much: markdown stays within the limit and in one piece, graphs parse, lines wrap."""

import re
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from reconciler.base.declarations import RelationKind
from reconciler.connectors.transport import Direction
from reconciler.diff.causes import ColumnAdded, Path, QueryChanged, ReadsChanged
from reconciler.diff.model import (
    Action,
    ConnectorChange,
    Diff,
    FunctionChange,
    MetadataChange,
    RelationChange,
    SettingDifference,
    Spared,
)
from reconciler.plan.escaping import code, fenced, inline
from reconciler.plan.graph_form import Node, PlanGraph, Shape, State, render_dot, render_mermaid
from reconciler.plan.markdown_form import render_comment, render_markdown
from reconciler.plan.model import ConnectorOutcome, Hazard, Outcome, Plan, QueryDifference
from reconciler.plan.operations.bootstrap_view import BootstrapView
from reconciler.plan.operations.commit_snapshot import CommitSnapshot
from reconciler.plan.operations.drop_relation import DropRelation
from reconciler.plan.text_form import render_text
from reconciler.plan.words import summarise
from reconciler.plan.wrapping import columns_of, wrap
from tests.plan.test_forms import TABLE, plan

# fmt: off
EVIL = (
    "@team", "#123", "GH-1", "http://evil.example", "www.evil.example", "a@evil.example", "[x](http://e)",
    "![x](http://e)", "<img src=x>", "</details>", "<details>", "<!-- reconcile plan: shop dev -->", "-->",
    "<!--", "# heading", "\n\n# heading", "\r\n### Plan", "| a | b |", "\\|", "\\", "\\`", "`", "``", "```",
    "````", "~~~", "*", "_", "__x__", "**x**", "> q", "- [ ]", "1. x", "---", "===", "&lt;", "&#64;team",
    ":smile:", "\x00", "\x1b[2K", "\u202e", "\u200b", "\ud800", "end", '"', "'", "]]", ")]", "-->", "$x$",
    "~~x~~", "\t", " ", "名前", "e\u0301", "owner/repo#1", "javascript:x", "subgraph", "]; n1 -> n2; x [",
    "%%{init}%%",
)
# fmt: on
NAMES = st.one_of(
    st.lists(st.sampled_from(EVIL), min_size=1, max_size=4).map("".join),
    st.text(min_size=1, max_size=30),
    st.from_regex(r"[a-z_]{1,40}", fullmatch=True),
)
CODES = st.sampled_from(["H901", "H902", "H903", "H905", "H911"])
HAZARDS = st.builds(lambda known, name: Hazard(known, name, f"table {name} is removed"), CODES, NAMES)
# Plans are large: shrinking and explaining them takes minutes and helps little.
PHASES = (Phase.explicit, Phase.reuse, Phase.generate)
MARKDOWN = MarkdownIt("gfm-like", {"linkify": False})


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    base = plan(TABLE, TABLE + "CREATE MATERIALIZED VIEW v AS SELECT id FROM t;")
    times = draw(st.sampled_from([1, 1, 30, 900]))
    names = draw(st.lists(NAMES, min_size=1, max_size=6)) * times
    causes = (ColumnAdded(names[0], "INT"), QueryChanged(), ReadsChanged(names[0], (names[-1],), Path((names[0],)), None))
    relations = tuple(
        RelationChange(draw(st.sampled_from(Action)) if number < 6 else Action.MODIFIED, RelationKind.VIEW, name, causes)
        for number, name in enumerate(names)
    )
    difference = SettingDifference(names[0], names[-1], None)
    connectors = tuple(ConnectorChange(Action.MODIFIED, Direction.INPUT, name, (difference,)) for name in names[:3])
    hazards = tuple(draw(st.lists(HAZARDS, max_size=4))) * draw(st.sampled_from([1, 1, 400]))
    diff = Diff(
        relations,
        connectors,
        {},
        True,
        tuple(FunctionChange(Action.MODIFIED, name, (name,)) for name in names[:3]),
        tuple(Spared(name, name, (name,)) for name in names[:200]),
        tuple(MetadataChange(name, "comment") for name in names[:200]),
    )
    return replace(
        base,
        diff=diff,
        steps=(
            *(BootstrapView(name, (name,)) for name in names),
            *(DropRelation(name, RelationKind.VIEW) for name in names[:3]),
            CommitSnapshot(),
        ),
        connectors=tuple(ConnectorOutcome(name, Outcome.RESUMES, name) for name in names),
        hazards=hazards,
        judgements=(),
        queries=tuple(
            QueryDifference(name, f"SELECT {name}\nFROM a", f"SELECT {name} + 1\nFROM a{name * 40}") for name in names[:40]
        ),
        kept=tuple(names),
    )


def problems_of(text: str, headings: int) -> list[str]:
    """What of a comment acts that must not."""
    found = []
    tokens = MARKDOWN.parse(text.replace("_Some detail is left out", "Some detail is left out").replace("whole._", "whole."))
    flat = [child for token in tokens for child in (token, *(token.children or ()))]
    if sum(token.type == "heading_open" for token in flat) != headings:
        found.append("headings")
    found += [
        token.type for token in flat if token.type in ("link_open", "image", "blockquote_open", "hr", "s_open", "em_open")
    ]
    html = [token.content for token in flat if token.type in ("html_block", "html_inline")]
    allowed = re.compile(
        r"(<details>|<summary>([^<>&]|&#\d+;|<code>|</code>|<wbr>)*</summary>|</details>|</?code>|<wbr>"
        r"|<!-- reconcile plan: [\w. ()-]* -->|\s)*"
    )
    found += [part for part in html if not allowed.fullmatch(part)]
    blocks = [part for token in tokens if token.type == "html_block" for part in re.findall(r"</?details>", token.content)]
    if blocks != ["<details>", "</details>"] * (len(blocks) // 2):
        found.append("details are not balanced")
    # Text that stands outside of code is what the host looks at for mentions, references and addresses.
    depth = 0
    for token in flat:
        if token.type == "html_inline":
            depth += {"<code>": 1, "</code>": -1}.get(token.content, 0)
        if token.type == "text" and depth == 0 and re.search(r"@\w|#\d|GH-\d|https?:|www\.|:\w+:", token.content):
            found.append(token.content)
    return found


LIMITS = st.sampled_from([3_000, 8_000, 64_000])


@settings(max_examples=4, phases=PHASES, deadline=None)
@given(plans(), LIMITS)
def test_markdown_of_any_plan(found: Plan, limit: int) -> None:
    is_whole_and_acts_not(found, limit)


@pytest.mark.slow
@settings(max_examples=40, phases=PHASES, deadline=None)
@given(plans(), LIMITS)
def test_markdown_of_many_more_plans(found: Plan, limit: int) -> None:
    is_whole_and_acts_not(found, limit)


def is_whole_and_acts_not(found: Plan, limit: int) -> None:
    text = render_markdown(found, limit)
    assert len(text.encode()) <= limit
    assert summarise(found) in text
    assert found.digest in text
    assert all(f"**{hazard.code}**" in text for hazard in found.hazards)
    assert problems_of(text, headings=1) == []


COMMENTS = (
    st.lists(plans(), min_size=1, max_size=4),
    st.sampled_from([6_000, 30_000, 64_000]),
    st.sampled_from([1, 40]),
)


@settings(max_examples=3, phases=PHASES, deadline=None)
@given(*COMMENTS)
def test_markdown_of_any_plans_in_one_comment(found: list[Plan], limit: int, times: int) -> None:
    is_one_comment(found, limit, times)


@pytest.mark.slow
@settings(max_examples=15, phases=PHASES, deadline=None)
@given(*COMMENTS)
def test_markdown_of_many_more_plans_in_one_comment(found: list[Plan], limit: int, times: int) -> None:
    is_one_comment(found, limit, times)


def is_one_comment(found: list[Plan], limit: int, times: int) -> None:
    every = found * times
    text = render_comment(every, limit)
    assert len(text.encode()) <= limit
    for one in found:
        assert all(f"**{hazard.code}**" in text for hazard in one.hazards)
    if "Plans of" not in text:
        assert all(summarise(one) in text and one.digest in text for one in found)
        assert problems_of(text, headings=len(every)) == []


def test_what_is_left_out_is_left_out_in_order() -> None:
    applied = TABLE + "".join(f"CREATE MATERIALIZED VIEW v{n} AS SELECT id, {n} AS n FROM t;\n" for n in range(40))
    found = plan(applied, applied.replace("SELECT id,", "SELECT id + 1 AS id,"))
    whole = render_markdown(found)
    assert "left out" not in whole
    assert "<summary>Steps</summary>" in whole
    for limit in range(len(whole.encode()), 1_500, -97):
        text = render_markdown(found, limit)
        assert len(text.encode()) <= limit
    assert "81 steps, summed up" in render_markdown(found, len(whole.encode()) - 10)


def test_more_pipelines_than_a_comment_holds() -> None:
    dropped = plan(TABLE + "CREATE TABLE gone (id BIGINT);", TABLE)
    many = [replace(plan(TABLE, TABLE), pipeline=f"p{n}") for n in range(900)]
    text = render_comment([*many, *(replace(dropped, pipeline=f"q{n}") for n in range(900))])
    assert len(text.encode()) <= 64_000
    assert "**900 change, 900 do not.** Hazards: **H901** 900 times." in text
    assert "more\n" in text


@given(NAMES)
def test_text_in_markdown_is_what_it_was(name: str) -> None:
    for text in (inline(name), code(name)):
        assert "\n" not in text
        assert text.count("|") == 0
        assert problems_of(f"a {text} b\n", headings=0) == []
    body = fenced(name.split("\n"), "diff")
    assert [token.type for token in MARKDOWN.parse(body)] == ["fence"]


MERMAID = (
    re.compile(r"flowchart LR"),
    re.compile(r"  %% [A-Za-z0-9_ .()-]*"),
    re.compile(r'  n\d+(\[\(|\[|\[\[|\(|\(\[|\{\{)"([A-Za-z0-9 _.,()-]|#\d+;)*"(\)\]|\]|\]\]|\)|\]\)|\}\}):::[a-z]+'),
    re.compile(r"  n\d+ --> n\d+"),
    re.compile(r"  subgraph legend|  end"),
    re.compile(r'    [a-z_]+\["[a-z0-9 ,]+"\]:::[a-z]+'),
    re.compile(
        r"  classDef [a-z]+ fill:#[0-9a-f]{6},stroke:#[0-9a-f]{6},color:#000000,stroke-width:\dpx(,stroke-dasharray:4)?"
    ),
)
STRING = r'"(?:[^"\\\n]|\\["\\])*"'
ATTRIBUTE = rf"[a-z]+=(?:{STRING}|[a-z0-9]+)"
DOT = (
    re.compile(r"digraph plan \{|  \}|\}|  subgraph cluster_legend \{|  rankdir=LR;"),
    re.compile(rf"  +label={STRING};"),
    re.compile(rf"  +[a-z_0-9]+ \[{ATTRIBUTE}(?:, {ATTRIBUTE})*\];"),
    re.compile(r"  n\d+ -> n\d+;"),
)


def unlike(text: str, forms: Sequence[re.Pattern[str]]) -> list[str]:
    return [line for line in text.removesuffix("\n").split("\n") if not any(form.fullmatch(line) for form in forms)]


@given(st.lists(st.tuples(NAMES, st.sampled_from(Shape), st.sampled_from(State)), min_size=1, max_size=6), NAMES)
def test_graphs_hold_to_their_grammar_whatever_the_names(nodes: list[tuple[str, Shape, State]], title: str) -> None:
    found = tuple(Node(f"n{number}", *node) for number, node in enumerate(nodes, 1))
    graph = PlanGraph(title, found, tuple((node.id, "n1") for node in found), left_out=3)
    assert unlike(render_mermaid(graph), MERMAID) == []
    assert unlike(render_dot(graph), DOT) == []
    assert len(re.findall(r"^  n\d+ \[", render_dot(graph), re.MULTILINE)) == len(nodes)


@given(st.lists(st.text(min_size=1, max_size=12), max_size=30), st.integers(0, 90), st.integers(0, 12))
def test_wrapping_loses_nothing_and_keeps_to_the_width(words: list[str], width: int, hanging: int) -> None:
    text = "  " + " ".join(words)
    lines = wrap(text, width, hanging)
    assert "".join("".join(lines).split()) == "".join(text.split())
    for line in lines:
        assert columns_of(line.rstrip()) <= max(width, hanging + 24) or len(line.split()) <= 1
    assert all(line.startswith(" " * hanging) for line in lines[1:])
    assert wrap(text, None, hanging) == [text]


@settings(max_examples=10, phases=PHASES, deadline=None)
@given(plans(), st.sampled_from([None, 20, 60, 100]), st.booleans())
def test_text_of_any_plan_is_printable_and_whole(found: Plan, width: int | None, whole: bool) -> None:
    text = render_text(found, width=width, whole=whole)
    assert text.replace("\n", "").isprintable() or not set(text) & set("\r\x1b\x00\u202e\u200b\ud800")
    text.encode()
    flat = " ".join(text.split())
    assert f"Plan: {summarise(found)}." in flat
    assert all(hazard.code in text for hazard in found.hazards)
    if whole and width is None:
        assert text.count("\n      column") == len(found.diff.relations)
