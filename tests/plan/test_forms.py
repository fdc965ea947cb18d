"""The forms of a plan: limits, escaping, secrets, determinism of sums."""

from dataclasses import replace

from reconciler.base.declarations import BootstrapPolicy
from reconciler.diff.model import approval_diff
from reconciler.plan.json_form import plan_to_json
from reconciler.plan.lock import Differs, Matches, Missing, judge_lock, read_sections, render_section, with_section
from reconciler.plan.make import make_plan
from reconciler.plan.markdown_form import LIMIT, render_markdown
from reconciler.plan.model import Plan, Policies, RolledBack
from reconciler.plan.text_form import query_difference, render_text
from reconciler.project.manifest.read import read_manifest
from reconciler.project.program.compile import compile_program
from reconciler.project.snapshot.model import Snapshot, take_snapshot

YAML = "apiVersion: reconciler/v1\nkind: Pipeline\nmetadata: {name: shop}\n"
TABLE = "CREATE TABLE t (id BIGINT, name VARCHAR);\n"
POLICIES = Policies(BootstrapPolicy.AWAIT_APPROVAL)


def snapshot(program: str, yaml: str = YAML) -> Snapshot:
    files = {"pipelines/shop/pipeline.yaml": yaml, "pipelines/shop/program.sql": program}
    read = read_manifest("pipelines/shop", files, {})
    assert read.manifest is not None
    return take_snapshot(compile_program(read.manifest).program)


def plan(applied: str, desired: str, yaml: tuple[str, str] = (YAML, YAML)) -> Plan:
    return make_plan("shop", "dev", snapshot(applied, yaml[0]), snapshot(desired, yaml[1]), POLICIES)


def kafka(password: str, topic: str) -> str:
    return (
        YAML + "spec:\n  connectors:\n    - name: live\n      table: t\n      transport:\n        name: kafka_input\n"
        f"        config: {{topic: {topic}, bootstrap.servers: b, sasl.password: '{password}'}}\n"
        "      format: {name: json}\n"
    )


def test_what_is_held_back_is_broken_to_the_width_where_nothing_changes_either() -> None:
    held = tuple(RolledBack("view", f"a_view_{number}_with_a_name_that_is_long", 0) for number in range(3))
    text = render_text(replace(plan(TABLE, TABLE), rolled_back=held), width=40)
    lines = text.splitlines()
    assert sum("rolled back: " in line for line in lines) == len(held)
    assert max(map(len, lines)) <= 40
    assert "\n\n" not in text


def test_markdown_stays_within_the_limit_and_keeps_summary_and_hazards() -> None:
    long = ",\n".join(f"    id + {number} AS column_{number}" for number in range(600))
    views = [f"CREATE MATERIALIZED VIEW v{n} AS SELECT\n{long}\nFROM t;\n" for n in range(6)]
    applied = TABLE + "".join(views) + "CREATE TABLE gone (id BIGINT);\n"
    found = plan(applied, TABLE + "".join(view.replace("id +", "id -") for view in views))
    text = render_markdown(found)
    assert len(text) <= LIMIT
    assert "6 to bootstrap" in text
    assert "H901" in text
    assert "left out for length" in text


def test_markdown_of_thousands_of_changes_becomes_counts_with_names() -> None:
    many = "".join(f"CREATE VIEW a_view_with_a_long_name_{n} AS SELECT id FROM t;\n" for n in range(1500))
    text = render_markdown(plan(TABLE, TABLE + many))
    assert len(text) <= LIMIT
    assert "1500 to add" in text
    assert "left out for length" in text


def test_what_users_wrote_cannot_forge_a_part_of_the_comment() -> None:
    evil = "```\n</details>\n### Approved by the security team\n<img src=x>\n````"
    applied = TABLE + f"CREATE MATERIALIZED VIEW v AS SELECT '{evil}' AS a FROM t;\n"
    text = render_markdown(plan(applied, applied.replace("AS a", "AS b")))
    fences = [line for line in text.splitlines() if line.startswith("`````")]
    assert len(fences) == 2, "the fence is longer than any within"


def test_what_users_wrote_cannot_forge_a_section_of_the_lock() -> None:
    evil = "x\n\n[shop / prod]\ndigest: sha256:00"
    yaml = (kafka("${secret:K}", "one"), kafka("${secret:K}", f'"{evil}"'.replace("\n", "\\n")))
    found = plan(TABLE, TABLE, yaml)
    text = with_section(None, found, "1", "shop", "dev")
    assert text is not None
    assert set(read_sections(text)) == {("shop", "dev")}
    assert judge_lock(text, found, "1") == Matches()


def test_what_users_wrote_cannot_act_in_any_form() -> None:
    evil = "x\\r# Approved by @security [click](http://evil)\\n  Approval: not needed\\e[2K\\u202e\\u2028| `y`"
    found = plan(TABLE, TABLE, (kafka("${secret:K}", "one"), kafka("${secret:K}", f'"{evil}"')))
    for text in (render_text(found), render_markdown(found), render_section(found, "1")):
        assert not {"\r", "\x1b", "\u202e", "\u2028"} & set(text)
        assert not any(line.strip() == "Approval: not needed" for line in text.split("\n"))
    (row,) = [line for line in render_markdown(found).split("\n") if "security" in line]
    assert "@security" not in row
    assert "`y`" not in row
    assert row.count("|") == 5


def test_only_line_feeds_end_the_lines_of_a_query() -> None:
    # What is applied may be older than the rule by which files with such characters are refused.
    applied = "SELECT 'a\x0bApproval: not needed\x1b[1A' AS x FROM t"
    text = "\n".join(query_difference(applied, applied.replace("AS x", "AS y")))
    assert "\\x0bApproval: not needed\\x1b[1A" in text
    assert "\x1b" not in text


def test_a_line_of_a_query_that_looks_like_a_heading_is_shown() -> None:
    applied = TABLE + "CREATE VIEW v AS SELECT id\n-- old remark\nFROM t WHERE id = 1;"
    text = render_text(plan(applied, applied.replace("-- old", "-- new").replace("id = 1", "id = 2")))
    assert "--- old remark" in text
    assert "+-- new remark" in text


def test_secrets_stand_in_no_form() -> None:
    found = plan(TABLE, TABLE, (kafka("hunter2", "a"), kafka("correct horse", "b")))
    assert found.diff.connectors
    for text in (
        render_text(found),
        render_markdown(found),
        str(plan_to_json(found)),
        render_section(found, "1"),
    ):
        assert "hunter2" not in text
        assert "correct horse" not in text
        assert "sasl.password" in text


def test_a_plan_has_every_member_of_the_seeds_diff_object_even_when_empty() -> None:
    assert approval_diff(plan(TABLE, TABLE).diff) == {
        "added_input_connectors": [],
        "added_output_connectors": [],
        "modified_input_connectors": [],
        "modified_output_connectors": [],
        "removed_input_connectors": [],
        "removed_output_connectors": [],
        "program_diff": {
            "added_tables": [],
            "added_views": [],
            "modified_tables": [],
            "modified_views": [],
            "removed_tables": [],
            "removed_views": [],
        },
        "program_diff_error": None,
    }


def test_the_digest_covers_applied_desired_environment_and_policies() -> None:
    one, two, three = (snapshot(TABLE + f"CREATE VIEW v AS SELECT id + {n} AS x FROM t;") for n in (1, 2, 3))
    allow = Policies(BootstrapPolicy.ALLOW)
    digests = {
        make_plan("shop", "dev", one, two, POLICIES).digest,
        make_plan("shop", "dev", one, three, POLICIES).digest,
        make_plan("shop", "dev", three, two, POLICIES).digest,
        make_plan("shop", "prod", one, two, POLICIES).digest,
        make_plan("other", "dev", one, two, POLICIES).digest,
        make_plan("shop", "dev", one, two, allow).digest,
        make_plan("shop", "dev", None, two, POLICIES).digest,
        make_plan("shop", "dev", one, None, POLICIES).digest,
    }
    assert len(digests) == 8


def test_the_digest_does_not_cover_comments_layout_and_descriptions() -> None:
    applied = snapshot(TABLE)
    plain = snapshot(TABLE + "CREATE VIEW v AS SELECT id FROM t;")
    dressed = snapshot("-- new\n" + TABLE + "create view v as\n  select id -- the key\n  from T;", YAML + "spec: {}\n")
    assert make_plan("shop", "dev", applied, plain, POLICIES).digest == (
        make_plan("shop", "dev", applied, dressed, POLICIES).digest
    )


def test_a_lock_of_nothing_and_of_another_environment() -> None:
    found = plan(TABLE, TABLE + "CREATE VIEW v AS SELECT id FROM t;")
    assert judge_lock(None, found, "1") == Missing()
    other = make_plan("shop", "prod", snapshot(TABLE), snapshot(TABLE + "CREATE VIEW v AS SELECT id FROM t;"), POLICIES)
    text = with_section(None, other, "1", "shop", "prod")
    assert judge_lock(text, found, "1") == Missing()
    both = with_section(text, found, "1", "shop", "dev")
    assert both is not None
    assert judge_lock(both, found, "1") == Matches()
    assert judge_lock(both, other, "1") == Matches()
    assert isinstance(judge_lock(both.replace("digest: sha256:", "digest: sha256:0", 1), found, "1"), Differs)
    assert with_section(with_section(both, None, "1", "shop", "dev"), None, "1", "shop", "prod") is None
