"""What the process that forks programs of tests (`tests.programs`) has imported."""

import tests.acceptance.killed
import tests.rest.program
import tests.shops.late_driver
import tests.shops.lineitem
from reconciler.cli.serve import load_commands

__all__ = ["tests"]

load_commands()
