"""Runs one `reconcile` command and writes which installed libraries it imported.

    python -m bench.libraries OUT COMMAND…

The list is what the floor process imports, so the floor can't drift from what the command really needs. It names the modules
that come from the installation's site-packages; what the interpreter itself loaded before is none.
"""

import sys

_BEFORE = frozenset(sys.modules)

import json  # noqa: E402
import sysconfig  # noqa: E402
from pathlib import Path  # noqa: E402

from reconciler.cli.main import run  # noqa: E402


def imported_libraries() -> list[str]:
    """The names of the modules that this process imported from site-packages, sorted: packages before what is in them."""
    folders = tuple(f"{sysconfig.get_path(kind)}/" for kind in ("purelib", "platlib"))
    names = {
        name
        for name, module in list(sys.modules.items())
        if name not in _BEFORE and (getattr(module, "__file__", None) or "").startswith(folders)
    }
    # Compiled packages keep shared code in a module of their own, which they import themselves.
    ours = ("reconciler", "bench")
    return sorted(
        name
        for name in names
        if name.partition(".")[0] not in ours and not name.endswith("__mypyc") and not name.startswith("__")
    )


if __name__ == "__main__":
    code = run(sys.argv[2:])
    Path(sys.argv[1]).write_text(json.dumps(imported_libraries()))
    sys.exit(code)
