"""Status as Prometheus text (exposition format 0.0.4). The metrics are those of `METRICS`, which docs/running.md lists.

Counters are those of the pipeline's life, not of one process: they go on over restarts. What is not known is left out.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final

from reconciler.base.dataclass import dataclass
from reconciler.run.orchestration import Activity
from reconciler.service.status_model import ConnectorStatus, PipelineStatus, StreamStatus
from reconciler.state.lifecycle import State


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric's type (gauge or counter) and what it says."""

    kind: str
    help: str


@dataclass(frozen=True, slots=True)
class Sample:
    """One value of a metric under its labels."""

    metric: str
    labels: Mapping[str, str]
    value: float


METRICS: Final[Mapping[str, Metric]] = {
    "reconcile_pipeline_state": Metric("gauge", "1 for the state that the pipeline is in, 0 for the others."),
    "reconcile_pipeline_step": Metric("gauge", "Number of the published step."),
    "reconcile_pipeline_pending": Metric("gauge", "1 if the files contain a change that is not approved."),
    "reconcile_run_steps": Metric("gauge", "Steps that the last run published."),
    "reconcile_run_start_time_seconds": Metric("gauge", "When the last run started, in Unix time."),
    "reconcile_step_seconds": Metric("gauge", "Time of the last step by phase."),
    "reconcile_step_average_seconds": Metric("gauge", "Time of a step by phase, on average over the last run."),
    "reconcile_pipeline_freshness_seconds": Metric(
        "gauge", "Age of the oldest change of the last step with input when it was published."
    ),
    "reconcile_pipeline_freshness_median_seconds": Metric("gauge", "The median of this over the last hundred steps."),
    "reconcile_pipeline_freshness_highest_seconds": Metric("gauge", "The highest of this over the last hundred steps."),
    "reconcile_relation_rows": Metric("gauge", "Rows of a table or stored view at the published step."),
    "reconcile_relation_failed_calls": Metric("gauge", "Calls that failed and gave NULL, in the current rows of a view."),
    "reconcile_stream_state_rows": Metric("gauge", "Rows that a stream remembers."),
    "reconcile_stream_state_bytes": Metric("gauge", "Bytes of the rows that a stream remembers."),
    "reconcile_stream_watermark_behind_seconds": Metric(
        "gauge", "How far the watermark of a stream is behind now; negative: ahead."
    ),
    "reconcile_stream_late_rows": Metric("gauge", "Rows that came too late for a stream since it was bootstrapped."),
    "reconcile_stream_largest_key_part": Metric(
        "gauge", "Which part of the rows of a large step the largest key of a stream had, from 0 to 1."
    ),
    "reconcile_connector_activity": Metric("gauge", "1 for the connector's activity, 0 for the others."),
    "reconcile_connector_rows_total": Metric("counter", "Rows that the connector has moved."),
    "reconcile_connector_rows_per_second": Metric("gauge", "Rows per second over the last ten seconds."),
    "reconcile_connector_rejected_total": Metric("counter", "Records that went to the dead letters."),
    "reconcile_connector_unmatched_total": Metric("counter", "Deletes that found no row."),
    "reconcile_connector_late_total": Metric("counter", "Records that were left out since a row of theirs was late."),
    "reconcile_connector_dropped_total": Metric(
        "counter", "Deleted rows that an output can't send, since its format has no deletes."
    ),
    "reconcile_connector_batches_total": Metric("counter", "Batches that the connector has moved."),
    "reconcile_connector_batches_without_spark_total": Metric("counter", "Of these, those that were written without Spark."),
    "reconcile_connector_backlog": Metric(
        "gauge", "The lag: what is not read yet, by part of the input (for Kafka, by partition)."
    ),
    "reconcile_connector_freshness_seconds": Metric(
        "gauge", "Age of the oldest change of the input's last batch when it was published."
    ),
    "reconcile_connector_waiting_seconds": Metric("gauge", "Age of the oldest change that the input has not read yet."),
    "reconcile_connector_failing": Metric("gauge", "1 while the connector fails and the run retries it."),
    "reconcile_connector_last_error_time_seconds": Metric("gauge", "When the connector failed last, in Unix time."),
}


def prometheus_text(statuses: Sequence[PipelineStatus]) -> str:
    """All metrics of some pipelines, by metric."""
    samples = [sample for status in statuses for sample in _of_pipeline(status)]
    lines = []
    for name, metric in METRICS.items():
        found = [sample for sample in samples if sample.metric == name]
        if found:
            lines += [f"# HELP {name} {_escaped(metric.help)}", f"# TYPE {name} {metric.kind}"]
            lines += [f"{name}{_labels(sample.labels)} {_number(sample.value)}" for sample in found]
    return "".join(f"{line}\n" for line in lines)


def _of_pipeline(status: PipelineStatus) -> Iterator[Sample]:
    labels = {"pipeline": status.pipeline, "environment": status.environment}
    for state in State:
        yield Sample("reconcile_pipeline_state", {**labels, "state": state.value}, float(status.state is state))
    if status.step is not None:
        yield Sample("reconcile_pipeline_step", labels, status.step)
    yield Sample("reconcile_pipeline_pending", labels, float(bool(status.refusal)))
    if status.run is not None:
        yield Sample("reconcile_run_steps", labels, status.run.steps)
        yield Sample("reconcile_run_start_time_seconds", labels, _unix(status.run.started_at))
        for metric, which in (("reconcile_step_seconds", "last"), ("reconcile_step_average_seconds", "average")):
            for phase, seconds in sorted(status.run.phases.get(which, {}).items()):
                yield Sample(metric, {**labels, "phase": phase}, seconds)
        for name, which in (("", "last"), ("_median", "median"), ("_highest", "highest")):
            if status.run.freshness.get(which) is not None:
                yield Sample(f"reconcile_pipeline_freshness{name}_seconds", labels, status.run.freshness[which])
    for relation in status.relations:
        if relation.rows is not None:
            yield Sample("reconcile_relation_rows", {**labels, "relation": relation.name}, relation.rows)
        for one in relation.failed_calls:
            view = {**labels, "relation": relation.name, "function": one.function}
            yield Sample("reconcile_relation_failed_calls", view, one.count)
        if relation.stream is not None:
            yield from _of_stream({**labels, "stream": relation.name}, relation.stream)
    for connector in status.connectors:
        yield from _of_connector({**labels, "connector": connector.name, "direction": connector.direction}, connector)


def _of_stream(labels: Mapping[str, str], stream: StreamStatus) -> Iterator[Sample]:
    yield Sample("reconcile_stream_state_rows", labels, stream.rows)
    yield Sample("reconcile_stream_state_bytes", labels, stream.bytes)
    if stream.behind_seconds is not None:
        yield Sample("reconcile_stream_watermark_behind_seconds", labels, stream.behind_seconds)
    yield Sample("reconcile_stream_late_rows", labels, stream.late)
    if stream.largest_part is not None:
        yield Sample("reconcile_stream_largest_key_part", labels, stream.largest_part)


def _of_connector(labels: Mapping[str, str], connector: ConnectorStatus) -> Iterator[Sample]:
    for activity in Activity:
        now = float(connector.activity == activity.value)
        yield Sample("reconcile_connector_activity", {**labels, "activity": activity.value}, now)
    yield Sample("reconcile_connector_rows_total", labels, connector.rows)
    yield Sample("reconcile_connector_rows_per_second", labels, connector.rows_per_second)
    yield Sample("reconcile_connector_rejected_total", labels, connector.rejected)
    yield Sample("reconcile_connector_unmatched_total", labels, connector.unmatched)
    yield Sample("reconcile_connector_late_total", labels, connector.late)
    yield Sample("reconcile_connector_dropped_total", labels, connector.dropped)
    yield Sample("reconcile_connector_batches_total", labels, connector.batches)
    yield Sample("reconcile_connector_batches_without_spark_total", labels, connector.without_spark)
    yield Sample("reconcile_connector_failing", labels, float(connector.activity == Activity.FAILING.value))
    for part, waiting in sorted(connector.backlog.items()):
        yield Sample("reconcile_connector_backlog", {**labels, "part": part}, waiting)
    for metric, seconds in (("freshness", connector.freshness), ("waiting", connector.waiting_seconds)):
        if seconds is not None:
            yield Sample(f"reconcile_connector_{metric}_seconds", labels, seconds)
    if connector.last_error is not None:
        yield Sample("reconcile_connector_last_error_time_seconds", labels, _unix(connector.last_error["at"]))


def _labels(labels: Mapping[str, str]) -> str:
    quoted = ",".join(f'{name}="{_escaped_label(value)}"' for name, value in labels.items())
    return f"{{{quoted}}}"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n")


def _escaped_label(text: str) -> str:
    return _escaped(text).replace('"', r"\"")


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(float(value))


def _unix(moment: str) -> float:
    return datetime.fromisoformat(moment).timestamp()
