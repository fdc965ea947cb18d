"""Of very many problems the first are listed, and how many more there are."""

from reconciler.base.diagnostics import Diagnostic, Location, Severity, listed


def problems(count: int, severity: Severity) -> list[Diagnostic]:
    return [Diagnostic("S221", f"{number}", Location("p.sql", number, 1), None, severity) for number in range(count)]


def test_few_problems_are_all_listed() -> None:
    found = problems(1_000, Severity.ERROR)
    assert listed(found) == tuple(found)


def test_of_many_problems_errors_are_listed_first() -> None:
    warnings, errors = problems(2_000, Severity.WARNING), problems(3, Severity.ERROR)
    shown = listed([*warnings, *errors])
    assert len(shown) == 1_001
    assert sum(one.severity is Severity.ERROR for one in shown) == 3
    assert (shown[-1].code, shown[-1].severity, shown[-1].message) == (
        "S295",
        Severity.WARNING,
        "1,003 more problems, which are not listed",
    )
    assert listed(problems(1_001, Severity.ERROR))[-1].severity is Severity.ERROR
