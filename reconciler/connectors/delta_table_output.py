"""`delta_table_output`: a Delta table outside the warehouse holds what a view holds; each change once."""

from reconciler.connectors.registry_folder import registry_problems
from reconciler.connectors.transport import Direction, Transport

TRANSPORT = Transport(
    name="delta_table_output",
    direction=Direction.OUTPUT,
    takes_format=False,
    check_further=registry_problems,
    sink_can_delete=lambda settings: True,
    address=("uri",),
)
