"""`delta_table_output`: writes a view's changes to a Delta table outside the warehouse.

Declared and validated; not run by this version.
"""

from reconciler.connectors.transport import OUTPUT_SETTINGS_THAT_RESET_NOTHING, Direction, Transport

TRANSPORT = Transport(
    name="delta_table_output",
    direction=Direction.OUTPUT,
    runnable_here=False,
    takes_format=False,
    resets_nothing=OUTPUT_SETTINGS_THAT_RESET_NOTHING,
    not_yet={},
    sink_can_delete=lambda settings: True,
)
