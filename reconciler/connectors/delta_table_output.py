"""`delta_table_output`: a Delta table outside the warehouse holds what a view holds; each change once."""

from reconciler.connectors.registry_folder import registry_problems
from reconciler.connectors.transport import OUTPUT_SETTINGS_THAT_RESET_NOTHING, Direction, Transport

TRANSPORT = Transport(
    name="delta_table_output",
    direction=Direction.OUTPUT,
    takes_format=False,
    resets_nothing=OUTPUT_SETTINGS_THAT_RESET_NOTHING,
    not_yet={},
    check_further=registry_problems,
    sink_can_delete=lambda settings: True,
    address=("uri",),
)
