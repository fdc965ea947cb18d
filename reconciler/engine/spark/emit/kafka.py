"""`kafka_output`: a view's changes as JSON messages of a topic (`messages`), at least once.

- Every message has the headers pipeline, connector, step, serial and emission (text). A repeat of an emission has the same
  serial, the same id (`emission`) and the same messages, though perhaps in another order, so that consumers can tell what
  they have.
- `key`: columns whose values, as a JSON object, are the message's key. All changes of one key then stand in one partition,
  what went before what came. Without a key, all that went is written before anything that came.
- The topic must be there: it is asked for before Spark starts (X751), and so are the brokers (X750). An emission that
  fails half-way is written again as a whole.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from reconciler.base.digest import JsonObject
from reconciler.base.errors import EngineError
from reconciler.base.names import fold, quoted
from reconciler.connectors.catalogue import sink_can_delete
from reconciler.engine.protocol import Check, Emission, Emitted
from reconciler.engine.repeats import what_is_kept
from reconciler.engine.secrets import resolved
from reconciler.engine.spark.copies import COPIES
from reconciler.engine.spark.emit.changes import Changes, changes, computed
from reconciler.engine.spark.emit.messages import JSON_OPTIONS, require_texts_for_both, texts
from reconciler.engine.spark.failures import translated
from reconciler.engine.spark.ingest.kafka_client import client_options, topic_client
from reconciler.engine.spark.locations import Sessions, literal
from reconciler.engine.spark.views import isolated

_DEFAULTS = {"max.block.ms": "15000", "request.timeout.ms": "10000", "delivery.timeout.ms": "30000", "acks": "all"}
_OWN_CODES = {"X740": "X750", "X741": "X751"}
_KEY, _HEADERS = "reconcile message key", "headers"
_UNREACHABLE = ("org.apache.kafka.common.errors.TimeoutException", "not present in metadata after", "Expiring ")


def emit(sessions: Sessions, emission: Emission, check: Check) -> Emitted:
    """Write what changed, whether or not it was written before."""
    settings = resolved(emission.settings)
    config = settings["transport"]["config"]
    form = (settings.get("format") or {}).get("config") or {}
    update_format = str(form.get("update_format", "insert_delete"))
    session = isolated(sessions, {})
    options = {f"kafka.{name}": value for name, value in {**_DEFAULTS, **client_options(config)}.items()}
    _require_topic(session._jvm, emission, config)
    try:
        with translated(f"connector {emission.connector}", of_connector=True):
            changed = changes(session, emission)
            require_texts_for_both(changed, f"connector {emission.connector}", update_format)
            key = _key_columns(emission, config, changed)
            with computed(changed) as (found, came, went):
                for part in _parts(found, keyed=bool(key), both=bool(came and went)):
                    rows = _ordered(part, key)
                    named = f"to_json(struct({_named(key)}), {JSON_OPTIONS}) AS {quoted(_KEY)}"
                    written = texts(rows, form, update_format, (named,) if key else ())
                    messages = written.selectExpr(
                        "value", f"{_headers(emission)} AS {_HEADERS}", *([f"{quoted(_KEY)} AS key"] if key else [])
                    )
                    check()
                    messages.write.format("kafka").options(**options).option("topic", str(config["topic"])).save()
    except EngineError as error:
        if any(word in error.message for word in _UNREACHABLE):
            raise _unreachable(emission, config, error.message) from error
        raise
    deletes = sink_can_delete(emission.settings)
    return Emitted(came, went if deletes else 0, dropped=0 if deletes else went)


def _require_topic(jvm: object, emission: Emission, config: JsonObject) -> None:
    try:
        with topic_client(jvm, {name: value for name, value in config.items() if name != "partitions"}):
            pass
    except EngineError as error:
        code = _OWN_CODES.get(error.code)
        if code == "X750":
            raise _unreachable(emission, config, error.message) from error
        hint = "create it, or correct the connector's topic" if code == "X751" else error.hint
        raise EngineError(code or error.code, f"connector {emission.connector}: {error.message}", hint) from error


def _unreachable(emission: Emission, config: JsonObject, message: str) -> EngineError:
    hint = (
        "check that the brokers run and that the connector's options are right; the run writes the rest when they are back"
    )
    servers = config["bootstrap.servers"]
    return EngineError("X750", f"connector {emission.connector}: Kafka at {servers} can't be reached: {message}", hint)


def _key_columns(emission: Emission, config: JsonObject, found: Changes) -> list[str]:
    wanted = [str(name) for name in config.get("key") or ()]
    for frame in found.frames:
        known = {fold(name) for name in frame.columns if name != COPIES}
        missing = [name for name in wanted if fold(name) not in known]
        if missing:
            raise EngineError(
                "X754",
                f"connector {emission.connector}: view {emission.view} has no column {', '.join(missing)} for messages' key",
                f"it has: {', '.join(name for name in frame.columns if name != COPIES)}",
            )
    spelled = {fold(name): name for name in found.after.columns}
    return [spelled[fold(name)] for name in wanted]


def _named(key: list[str]) -> str:
    """The columns under the names that the view has for them now."""
    return ", ".join(f"{quoted(name)} AS {quoted(name)}" for name in key)


def _parts(found: Changes, *, keyed: bool, both: bool) -> list[DataFrame]:
    """What is written one after the other: what went before what came, unless keys keep that order by themselves."""
    if len(found.frames) > 1 or keyed or not both:
        return list(found.frames)
    copies = f.col(quoted(COPIES))
    return [found.frames[0].where(copies < 0), found.frames[0].where(copies > 0)]


def _ordered(frame: DataFrame, key: list[str]) -> DataFrame:
    if not key:
        return frame
    return frame.repartition(*map(quoted, key)).sortWithinPartitions(quoted(COPIES))


def _headers(emission: Emission) -> str:
    values = {
        "pipeline": str(emission.commit.get("pipeline", "")),
        "connector": emission.connector,
        "step": str(emission.step),
        "serial": str(emission.transaction.version),
        **what_is_kept(emission),
    }
    return "array({})".format(
        ", ".join(
            f"named_struct('key', {literal(name)}, 'value', CAST({literal(str(value))} AS BINARY))"
            for name, value in values.items()
        )
    )
