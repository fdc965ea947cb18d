"""The queries of a step of any transformation. Each has a module of its own, whose description says what it gives and keeps.

All texts are made of their arguments alone, name each column, and are ordinary Spark SQL. With the whole inputs as added
rows, no state, and as watermark after the step a query of one number, `output` is the definition of the stream.
"""

from typing import assert_never

from reconciler.streams.model import (
    Accumulation,
    AfterWatermark,
    AggregateOverWindow,
    Count,
    Custom,
    Deduplicate,
    Hopping,
    OuterCachingJoin,
    Previous,
    RunningAggregate,
    Session,
    Sort,
    Stateful,
    Tumbling,
    WindowClose,
)
from reconciler.streams.queries import Input, Moment, StepInput, StreamQueries
from reconciler.streams.queries.caching_join import join_queries
from reconciler.streams.queries.count_windows import count_window_queries
from reconciler.streams.queries.custom import custom_queries
from reconciler.streams.queries.deduplicate import deduplicate_queries
from reconciler.streams.queries.log import NEEDED, Log, first_log, log_queries
from reconciler.streams.queries.partial_sessions import partial_session_queries
from reconciler.streams.queries.partial_windows import partial_window_queries
from reconciler.streams.queries.previous import previous_queries
from reconciler.streams.queries.running import running_queries
from reconciler.streams.queries.running_forms import Forms, partial_forms
from reconciler.streams.queries.sessions import session_queries
from reconciler.streams.queries.sorted_rows import sort_queries
from reconciler.streams.queries.time_windows import time_window_queries


def stream_queries(
    transformation: Stateful, inputs: tuple[Input, ...], log: Log | None, moment: Moment, is_folded: bool = False
) -> StreamQueries:
    """The queries of a step of a transformation over its inputs, in their order. `log` has what `state` of the steps before
    gave; None: nothing is remembered. `is_folded`: the rows that came have been put together by the step's `fold`."""
    if log is None:
        return first_log(_queries(transformation, inputs, None, moment), moment)
    queries = _queries(transformation, inputs, NEEDED, moment, is_folded)
    adds = queries.memory.holds.is_added_to and not log.is_rewritten
    state = _queries(transformation, inputs, None, moment).state if adds else queries.state
    return log_queries(queries, state, log, moment)


def _queries(
    transformation: Stateful, inputs: tuple[Input, ...], state: str | None, moment: Moment, is_folded: bool = False
) -> StreamQueries:
    """The queries over a state that has all that is remembered, and no more, of the keys that come or are due."""
    match transformation:
        case AggregateOverWindow(window=Tumbling() | Hopping() as window):
            forms = _partial_forms(transformation, inputs[0])
            if forms is None:
                return time_window_queries(transformation, window, inputs[0], state, moment)
            return partial_window_queries(transformation, window, forms, StepInput(inputs[0], state, moment, is_folded))
        case AggregateOverWindow(window=Session() as window):
            forms = _partial_forms(transformation, inputs[0])
            counts = transformation.trigger not in (AfterWatermark(), WindowClose())
            if forms is None or counts:
                return session_queries(transformation, window, inputs[0], state, moment)
            return partial_session_queries(transformation, window, forms, StepInput(inputs[0], state, moment, is_folded))
        case AggregateOverWindow(window=Count() as window):
            return count_window_queries(transformation, window, inputs[0], state, moment)
        case OuterCachingJoin():
            return join_queries(transformation, inputs, state, moment)
        case RunningAggregate():
            return running_queries(transformation, inputs[0], state, moment)
        case Sort():
            return sort_queries(transformation, inputs[0], state, moment)
        case Deduplicate():
            return deduplicate_queries(transformation, inputs[0], state, moment)
        case Previous():
            return previous_queries(transformation, inputs[0], state, moment)
        case Custom():
            return custom_queries(transformation, inputs[0], state, moment)
        case AggregateOverWindow():
            raise TypeError(f"no window: {transformation.window!r}")
        case _:
            assert_never(transformation)


def _partial_forms(given: AggregateOverWindow, source: Input) -> Forms | None:
    """How the aggregates of a window go on from what they came to, if all can, and each firing gives all rows."""
    return partial_forms(given.aggregates, source.columns) if given.accumulation is Accumulation.ACCUMULATING else None
