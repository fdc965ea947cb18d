"""`http_input`: reads rows that came over HTTP: requests, each stored as a file by the process that acknowledged it.

The rows are JSON lines, each `{"insert": {…}}`, `{"delete": {…}}` or `{"update": {…}}`. The input never ends, since requests
may always come.
The folder is one of this machine: who stores a request and who reads it mean the same by an absolute path.
"""

from reconciler.connectors.transport import Direction, Transport, always

TRANSPORT = Transport(
    name="http_input",
    direction=Direction.INPUT,
    takes_format=False,
    brings_deletes=always,
    address=("path",),
)
