"""Comments, docstrings and lines of Python files count, unless the code surely can't see them."""

import pytest

from reconciler.project.snapshot.python_meaning import python_meaning

BLIND = (
    "import math\nfrom decimal import ROUND_HALF_UP, Decimal as D"
    "\ndef f(x):\n    return D(x).quantize(D('1'), ROUND_HALF_UP)",
    "import json\nimport re\nfrom urllib.parse import unquote"
    "\ndef f(x):\n    return json.loads(re.sub('_', ' ', unquote(x)))",
    "import numpy as np\nimport pandas as pd\ndef f(x: pd.Series) -> pd.Series:\n    return pd.Series(np.log(x)).round(2)",
    "from lib.rates import RATE\nfrom . import other\ndef f(x):\n    return x * RATE",
    "from dataclasses import dataclass\n@dataclass(frozen=True)\nclass A:\n    x: int"
    "\n    def __eq__(self, o):\n        return True",
    "from enum import Enum\nclass A(Enum):\n    X = 1\ndef f(x):\n    return '{:>5.2f} {}'.format(x, type(x).__name__)",
    "def f(x):\n    try:\n        return f'{x:.2f}'\n    except ValueError as e:\n        return str(e)",
    "class A:\n    def __init__(self, x):\n        self._x = x\n    def copy(self):\n        return A(self._x)",
    "if __name__ == '__main__':\n    print(1)",
)
SEEING = (
    "import traceback\ndef f(a):\n    return traceback.format_exc()",
    "def f(a):\n    return getattr(f, '__do' + 'c__')",
    "def f(a):\n    return f.__doc__",
    "g = getattr\ndef f(a):\n    return g(f, a)",
    "def f(a):\n    try:\n        1 / 0\n    except ValueError as e:\n        return e.__traceback__.tb_lineno",
    "def f(a):\n    match f:\n        case object(__doc__=d):\n            return d",
    "import inspect",
    "import sys",
    "from dataclasses import inspect",
    "import dataclasses as d\ndef f(a):\n    return d.inspect.getsource(f)",
    "import collections as c\ndef f(a):\n    return c._sys._getframe(0)",
    "from operator import attrgetter as g",
    "import operator\ndef f(a):\n    return operator.attrgetter(a)(f)",
    "def f(a):\n    return '{0.__doc__}'.format(f)",
    "def f(a):\n    return ('{0._' + '_doc__}').format(f)",
    "def g():\n    yield\ndef f(a):\n    return '{0.gi_code}'.format(g())",
    "def f(a):\n    return '{0:{1.gi_code}}'.format(1, g())",
    "def f(a):\n    return str.format(a, f)",
    "def f(a):\n    return (i for i in a).gi_frame",
    "from string import Formatter",
    "from functools import *",
    "from functools import wraps",
    "import functools as t\ndef f(a):\n    return t.WRAPPER_ASSIGNMENTS[3]",
    "from typing import get_type_hints",
    "def f(a):\n    return open(a).read()",
    "import pandas as pd\ndef f(a):\n    return pd.read_csv(a)",
    "import numpy as np\ndef f(a):\n    return np.info(f)",
    "import pandas as pd\ndef f(a):\n    return pd.eval(a)",
    "class A(type):\n    pass",
    "T = type(int)\nclass M(T):\n    def __init__(c, n, b, s):\n        print(s)"
    "\nB = M('B', (), {})\nclass D(B):\n    'doc'",
    "T = type\n",
    "class A(metaclass=M):\n    pass",
    "object = 1\nclass A(object):\n    pass",
    "from lib import Enum\nclass A(Enum):\n    pass",
    "from math import pi as int\nclass A(int):\n    pass",
    "class A:\n    def __getattr__(self, name):\n        pass",
    "import scipy",
    "import urllib.request",
    "x = vars",
    "def f(a):\n    exec(a)",
    f"x = 0x{'F' * 5000}",
    "not python (",
)
OTHERS = {"lib/rates.py": "RATE = 1\n", "lib/__init__.py": "", "other.py": ""}


def commented(text: str) -> str:
    return f'"""What it is for."""\n# why\n\n{text}  # so\n'


@pytest.mark.parametrize("text", BLIND)
def test_what_can_not_see_its_text_means_what_it_does(text: str) -> None:
    before = python_meaning({"f.py": text, **OTHERS})
    assert before == python_meaning({"f.py": commented(text), **OTHERS})
    assert before != python_meaning({"f.py": f"{text}\nx = 1\n", **OTHERS})


@pytest.mark.parametrize("text", SEEING)
def test_what_may_see_its_text_means_its_text(text: str) -> None:
    before = python_meaning({"f.py": text, **OTHERS})
    assert before["f.py"] == text
    assert before != python_meaning({"f.py": commented(text), **OTHERS})
    assert before == python_meaning({"f.py": text.replace("\n", "\r\n"), **OTHERS})


def test_one_file_that_may_see_counts_for_all_of_a_function() -> None:
    sources = {"f.py": "import g\ndef f(a):\n    return g.look(f)\n", "g.py": SEEING[2]}
    assert python_meaning(sources) != python_meaning({**sources, "f.py": commented(sources["f.py"])})


def test_docstrings_of_classes_and_methods_are_none_of_their_meaning() -> None:
    text = "class A:\n    {0}\n    x = 1\n    def f(self):\n        {0}\n        return 1\n"
    assert python_meaning({"a.py": text.format("'one'")}) == python_meaning({"a.py": text.format("'reads __doc__'")})
