"""What a piece of work on a pipeline tells step by step, and how it counts rows, for people."""

from reconciler.base.dataclass import dataclass
from reconciler.base.printing import printable
from reconciler.engine.protocol import FailedCalls
from reconciler.registry.entries import BuildResult


@dataclass(frozen=True, slots=True)
class Progress:
    """Told before and after each step: `number` of `total`; `done` with a detail such as `1200 rows`."""

    number: int
    total: int
    step: str
    done: bool
    detail: str = ""


def in_rows(count: int) -> str:
    """A number of rows, for people."""
    return f"{count} row" if count == 1 else f"{count} rows"


def in_built_rows(result: BuildResult) -> str:
    """The rows of a build, and the calls of functions in it that gave NULL."""
    rows = "an unknown number of rows" if result.rows is None else in_rows(result.rows)
    return "; ".join([rows, *map(in_failed_calls, result.failed_calls)])


def in_failed_calls(failed: FailedCalls) -> str:
    """Calls of one function that failed and gave NULL, for people."""
    calls = "1 call" if failed.count == 1 else f"{failed.count} calls"
    return f"{calls} of {failed.function} failed and gave NULL, the first: {printable(failed.first)}"


def in_kept_rows(count: int | None, number: int | None) -> str:
    """The same of rows that a view's table has had before; `number` is that of the view's version."""
    whose = "its" if number is None else f"v{number}'s"
    words = f"{whose} rows are kept and current; nothing was computed"
    return words if count is None else f"{in_rows(count)}; {words}"
