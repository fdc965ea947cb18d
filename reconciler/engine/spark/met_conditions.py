"""Which rows, as Arrow has them, meet what a query asks of each by itself (`sql.row_condition`): as Spark would decide.

Where that can't be told (a value beyond a column's type, no such column), the rows stay: whoever asks looks at more.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, assert_never

from reconciler.base.names import fold
from reconciler.sql.row_condition import RowCondition, Sign

if TYPE_CHECKING:
    import pyarrow as pa


def meeting(rows: "pa.Table", conditions: Sequence[RowCondition]) -> "pa.Table":
    """The rows that meet all conditions."""
    import pyarrow as pa

    names = {fold(name): name for name in rows.column_names}
    for one in conditions:
        if one.column not in names or rows.num_rows == 0:
            continue
        try:
            rows = rows.filter(_meets(rows.column(names[one.column]), one))
        except (pa.ArrowException, OverflowError, TypeError):
            continue
    return rows


def _meets(column: Any, condition: RowCondition) -> Any:
    """True, false or NULL, value by value. Raises what Arrow raises where it does not compare these."""
    import pyarrow as pa
    from pyarrow import compute

    first = condition.values[0]
    match condition.sign:
        case Sign.AMONG:
            return compute.is_in(column, value_set=pa.array(condition.values).cast(column.type))
        case Sign.LESS:
            return compute.less(column, pa.scalar(first))
        case Sign.AT_MOST:
            return compute.less_equal(column, pa.scalar(first))
        case Sign.MORE:
            return compute.greater(column, pa.scalar(first))
        case Sign.AT_LEAST:
            return compute.greater_equal(column, pa.scalar(first))
        case Sign.BEGINS:
            return compute.starts_with(column, pattern=first)
        case Sign.ENDS:
            return compute.ends_with(column, pattern=first)
        case Sign.HOLDS:
            return compute.match_substring(column, pattern=first)
        case _:
            assert_never(condition.sign)
