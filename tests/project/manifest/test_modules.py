"""Whatever may import a module that only a run can determine is refused, by whatever name it goes; ordinary code is not."""

import subprocess
import sys

import pytest

from reconciler.base.diagnostics import Diagnostic
from reconciler.project.manifest.modules import Imports, read_modules


def problems(text: str) -> list[Diagnostic]:
    found: list[Diagnostic] = []
    modules = read_modules("udf", {"udf/taxes.py": text, "udf/rates.py": "RATE = 2\n"}, found)
    Imports(modules).sources_of(modules.by_name["taxes"], (), found)
    return found


def codes(text: str) -> set[str]:
    return {one.code for one in problems(text)}


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
        "import os\nos.sys.modules['builtins'].exec('1')",
        "from os import sys as s\ns.modules['builtins'].eval('1')",
        "import inspect\ninspect.builtins.eval('1')",
        "import inspect\ninspect.importlib.import_module('json')",
        "import inspect\nwith_it = inspect\nwith_it.importlib",
        "import enum\nenum.bltns.eval('1')",
        "import random\nrandom._os.system('python rates.py')",
        "from random import _os",
        "import unittest.mock\nunittest.mock._importer('rates')",
        "import importlib.metadata\nimportlib.metadata.EntryPoint('a', 'rates:RATE', 'b').load()",
        "from importlib.metadata import entry_points",
        "import gc\ngc.get_objects()",
        "globals()['__built' + 'ins__']",
        "def f(): return locals()",
        "def f(): pass\ngetattr(f, '__glo' + 'bals__')",
        "def f(): pass\nf.__getattribute__('__globals__')",
        "import operator\noperator.attrgetter('__globals__')(print)",
        "import operator\noperator.attrgetter('__code__.co_names')(print)",
        "'{0.__globals__}'.format(print)",
        "def g(): yield 1\ng().gi_frame.f_builtins['eval']",
        "print.__self__.eval('1')",
        "try:\n  1 / 0\nexcept ZeroDivisionError as e:\n  e.__traceback__.tb_frame",
        "def g(x: '__import__(\"rates\")'): pass",
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
        "import datetime, time, copy, collections.abc\ndatetime.time, time.time, copy.copy, collections.abc.Mapping",
        "class Row:\n  def __init__(self, code, site): self.code, self.site, self._trace = code, site, 1\nRow(1, 2)._trace",
        "def f(row): return row.code + row.site.profile",
        "def f(): 'Not by __globals__.'\n",
        "from collections import namedtuple\nP = namedtuple('P', 'x')\nP(1)._replace(x=2)._asdict()",
        "from concurrent.futures import ThreadPoolExecutor",
        "import xml.etree.ElementTree as tree\ntree.fromstring('<a/>').tag",
        "class A: __slots__ = ('x',)\nA.__name__, A().__class__, __name__, __file__",
        "s = 'a' + 'b' + str(1) + 'c'",
    ],
)
def test_ordinary_code_is_taken(text: str) -> None:
    assert codes(text) == set()


def held_by_the_library() -> list[str]:
    """What Python's own modules hold of modules that import or run text: `os.sys`, `inspect.builtins` …"""
    script = """
import importlib, sys, warnings
warnings.simplefilter("ignore")
wanted = {"builtins", "sys", "importlib", "runpy", "pkgutil", "code", "codeop", "pydoc", "zipimport", "gc", "marshal"}
for name in sorted(sys.stdlib_module_names - {"antigravity", "this", "idlelib", "__main__"}):
    try:
        module = importlib.import_module(name)
    except BaseException:
        continue
    for attribute, value in sorted(vars(module).items()):
        if type(value) is type(sys) and value.__name__ in wanted:
            print(f"{name}.{attribute}")
"""
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=120)
    return found.stdout.split()


def test_what_libraries_hold_of_each_other_is_refused() -> None:
    held = held_by_the_library()
    assert len(held) > 100

    taken = [one for one in held if codes(f"import {one.partition('.')[0]}\n{one}") != {"M165"}]
    imported = [one for one in held if codes("from {} import {} as x".format(*one.split("."))) != {"M165"}]

    assert (taken, imported) == ([], [])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import os\nos.sys", "os.sys"),
        ("def f(x): return x(1).a.__globals__", "….a.__globals__"),
        (f"[1][0x{'F' * 5000}].__globals__", "….__globals__"),
        (f"a{'.b' * 700}.__globals__", "….b.b.b.b.__globals__"),
    ],
)
def test_what_leads_round_is_named_as_far_as_it_is_short(text: str, said: str) -> None:
    assert [one.message for one in problems(text)] == [f"{said} gives access to values that only a run can determine"]


@pytest.mark.parametrize("text", ["exec;" * 1_000, "exec\n" * 1_000, "'é';" + "import nobody;" * 1_000])
def test_a_file_of_which_nothing_is_right_is_told_of_by_its_first_problems(text: str) -> None:
    found = problems(text)
    assert len(found) == 501
    assert (found[-1].code, found[-1].hint) == ("M103", "begin with the first one")
    assert found[-1].message == "the file has 500 problems or more; the rest was not read"


def test_places_count_characters_also_behind_others_than_ascii() -> None:
    places = [one.location.column for one in problems("exec; 'é'; exec") if one.location is not None]
    assert places == [1, 12]


def test_what_is_nested_too_deeply_is_said_so() -> None:
    found: list[Diagnostic] = []
    deep = f"def f(a):\n    return {'-' * 100_000}a\n"
    assert "f" not in read_modules("udf", {"udf/f.py": deep}, found).by_name
    assert [one.code for one in found] == ["M162"]
    assert found[0].message.removeprefix("this is not valid Python:").strip()
