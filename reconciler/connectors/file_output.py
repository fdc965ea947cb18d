"""`file_output`: writes a view's changes to files. Declared and validated; not run by this version."""

from reconciler.connectors.transport import OUTPUT_SETTINGS_THAT_RESET_NOTHING, Direction, Transport

TRANSPORT = Transport(
    name="file_output",
    direction=Direction.OUTPUT,
    runnable_here=False,
    takes_format=True,
    resets_nothing=OUTPUT_SETTINGS_THAT_RESET_NOTHING,
    not_yet={},
)
