"""Writing small changes of a view through an output connector, in this process. One module a transport, as in
`engine.spark.emit`; what these promise, these do."""

from reconciler.engine.arrow.emit import delta_table, files
from reconciler.engine.protocol import Check, Emission, Emitted


def emit(emission: Emission, check: Check) -> Emitted | None:
    """Write one emission; None: nothing was written, and it is for Spark to do. What `check` raises goes through. Raises
    EngineError for what Spark would refuse with the same words."""
    import pyarrow

    try:
        match emission.settings["transport"]["name"]:
            case "delta_table_output":
                return delta_table.emit(emission, check)
            case "file_output":
                return files.emit(emission, check)
            case _:
                return None
    except (OSError, pyarrow.ArrowException):
        # Whatever the system refuses, Spark says in its words; what is written already it finds.
        return None
