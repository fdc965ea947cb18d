"""A setting of Spark stands under its name, not among the options of Java."""

import pytest
import yaml

from reconciler.project.manifest.project import read_project

HIDDEN = "spark.sql.legacy.setopsPrecedence.enabled"


def problems(setting: str, options: str) -> list[tuple[str, str | None, int]]:
    text = yaml.safe_dump({"environments": {"prod": {"warehouse": "w", "spark": {setting: options}}}})
    read = read_project(text)
    return [(one.code, one.hint, one.location.line if one.location else 0) for one in read.diagnostics]


@pytest.mark.parametrize("setting", ["spark.driver.extraJavaOptions", "spark.driver.defaultJavaOptions"])
@pytest.mark.parametrize(
    "options",
    [
        f"-D{HIDDEN}=true",
        f"-Xss4m  -D{HIDDEN}=true -Da=b",
        f'"-D{HIDDEN}=true"',
        f"-D'{HIDDEN}'=true",
        f"-D{HIDDEN}",
        f"-Dspar\\k{HIDDEN[5:]}=1",
    ],
)
def test_what_sets_a_setting_is_refused(setting: str, options: str) -> None:
    assert problems(setting, options) == [("M134", f"write {HIDDEN} as a separate entry under spark", 4)]


@pytest.mark.parametrize("options", ["@options.txt", "-Xss4m @/etc/options", "-XX:Flags=x", "-XX:VMOptionsFile=x"])
def test_what_names_a_file_of_options_is_refused(options: str) -> None:
    assert [code for code, _, _ in problems("spark.driver.extraJavaOptions", options)] == ["M134"]


@pytest.mark.parametrize("options", ["-Xss4m", "-Dsparkle=1", "-XX:+UseG1GC -Dmail=a@b.c", "-Da='unclosed", "-Dx=-Dspark.y"])
def test_others_are_taken(options: str) -> None:
    assert problems("spark.driver.extraJavaOptions", options) == []
