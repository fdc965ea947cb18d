"""What is known of the last commits of a table, against what its files say."""

from collections import Counter

from reconciler.delta.added_files import changed_files
from reconciler.delta.arrow_rows import rows_of
from reconciler.delta.known_changes import known_changes
from reconciler.engine.arrow.equal_rows import row_ids


def are_as_the_files_say(location: str, before: int, after: int) -> bool:
    """Whether the known changes of these commits come to what the files do."""
    known, files = known_changes(location, ((before, after),)), changed_files(location, before, after)
    assert known is not None
    assert files is not None
    earlier, later = (rows_of(one.table, one.files) for one in (files.earlier, files.later))
    went, came, had, has = (
        Counter(one.to_pylist()) for one in row_ids([known.went, known.came, earlier, later], to_the_sign=True)
    )
    # Of what went and came again nothing is left: before + came = after + went.
    return had + came == has + went
