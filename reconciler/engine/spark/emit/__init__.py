"""Writing a view's changes through an output connector. One module a transport; `changes` says what changed.

| transport | a repeat of an emission |
|---|---|
| delta_table_output | is recognised by its transaction and writes nothing: exactly once |
| kafka_output | is written again; headers name pipeline, connector, step, serial and emission, to tell by: at least once |
| file_output | finds its folder complete and writes nothing, or writes it anew: exactly once |
"""

from reconciler.base.errors import EngineError
from reconciler.engine.protocol import Check, Emission, Emitted, unchecked
from reconciler.engine.spark.emit import delta_table, files, kafka
from reconciler.engine.spark.failures import translated
from reconciler.engine.spark.locations import Sessions


def emit(sessions: Sessions, emission: Emission, check: Check = unchecked) -> Emitted:
    """Write one emission. Raises EngineError; then it may be asked for again. What `check` raises goes through."""
    with translated(f"connector {emission.connector}", of_connector=True):
        return _emit(sessions, emission, check)


def _emit(sessions: Sessions, emission: Emission, check: Check) -> Emitted:
    match emission.settings["transport"]["name"]:
        case "delta_table_output":
            return delta_table.emit(sessions, emission, check)
        case "kafka_output":
            return kafka.emit(sessions, emission, check)
        case "file_output":
            return files.emit(sessions, emission, check)
        case name:
            raise EngineError("X716", f"connector {emission.connector}: the engine has no output transport {name!r}")
