"""Whatever may import what only a run can tell is refused, by whatever name it goes; ordinary code is not."""

import pytest

from reconciler.diagnostics import Diagnostic
from reconciler.manifest.modules import read_modules, sources_of


def codes(text: str) -> set[str]:
    found: list[Diagnostic] = []
    modules = read_modules("udf", {"udf/taxes.py": text, "udf/rates.py": "RATE = 2\n"}, found)
    sources_of(modules.by_name["taxes"], modules, (), found)
    return {one.code for one in found}


@pytest.mark.parametrize(
    "text",
    [
        "__import__('rates')",
        "exec('import rates')",
        "f = eval\nf('1')",
        "list(map(exec, ['import rates']))",
        "def f(run=exec): run('import rates')",
        "from importlib import import_module as load\nload('rates')",
        "from importlib import import_module\nload = import_module\nload('rates')",
        "import importlib\nimportlib.import_module('rat' + 'es')",
        "import importlib as i\ni.import_module('rates')",
        "import importlib\nload = importlib.import_module\nload('rates')",
        "import importlib\nk = importlib\nk._bootstrap._gcd_import('rates')",
        "import importlib\nimportlib.__import__('rates')",
        "import importlib\nimportlib.reload(1)",
        "from importlib import *",
        "from importlib import util",
        "import importlib.util",
        "import builtins\nbuiltins.__import__('rates')",
        "import builtins as b\ngetattr(b, 'exec')('import rates')",
        "from builtins import exec as run\nrun('import rates')",
        "getattr(__builtins__, 'ex' + 'ec')('import rates')",
        "globals()['__builtins__']",
        "vars()['__builtins__']",
        "(lambda: 0).__globals__",
        "().__class__.__base__.__subclasses__()",
        "__loader__.load_module('rates')",
        "__spec__.loader",
        "import sys\nsys.modules['rates']",
        "from sys import modules",
        "from sys import *",
        "import sys as s\ns.modules",
        "import sys\nt = sys\nt.modules",
        "import sys\ngetattr(sys, 'mod' + 'ules')",
        "import sys\nsys.path.append('.')",
        "import runpy\nrunpy.run_path('rates.py')",
        "import pkgutil",
        "import pydoc\npydoc.locate('rates')",
        "import code",
        "import timeit\ntimeit.timeit('import rates')",
        "import logging.config",
        "from logging import config",
        "getattr(object(), '__import__')",
    ],
)
def test_what_may_import_what_only_a_run_can_tell_is_refused(text: str) -> None:
    assert codes(text) == {"M165"}


@pytest.mark.parametrize(
    "text",
    [
        "import re\nP = re.compile('x')",
        "import sys\nprint(1, file=sys.stderr, flush=sys.version_info > (3, 11))",
        "from sys import version_info",
        "import importlib\njson = importlib.import_module('json')",
        "from importlib import import_module\njson = import_module('json')",
        "from importlib.metadata import version",
        "import importlib.resources",
        "import logging\nlogging.getLogger(__name__)",
        "from rates import RATE",
        "import rates as r\nx = r.RATE",
        "class A:\n  def eval(self): return 1\nA().eval()",
        "def f(o, name): return getattr(o, name)",
        "data = {'compile': 1, 'exec': 2}\ndata['compile']",
        "from datetime import *",
        "import pickle, json, math, os.path",
    ],
)
def test_ordinary_code_is_taken(text: str) -> None:
    assert codes(text) == set()
