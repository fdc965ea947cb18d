"""Which Java runs Spark: JAVA_HOME's, else the one on PATH; release 17 or 21.

The release is read from the file that every Java installation carries; Java itself is started only where that file is
missing.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from reconciler.base.dataclass import dataclass
from reconciler.base.errors import SetUpMissing

RELEASES = (17, 21)
_PACKAGE = "openjdk-17-jre-headless"


@dataclass(frozen=True, slots=True)
class Java:
    """An installed Java: its home, its full version (`17.0.15`) and release (17)."""

    home: Path
    version: str

    @property
    def release(self) -> int:
        return int(self.version.split(".")[0])


def find_java(environment: Mapping[str, str] | None = None) -> Java:
    """The Java to use. Raises SetUpMissing when there is none or it has another release."""
    variables = os.environ if environment is None else environment
    java = Java(*_locate(variables))
    if java.release not in RELEASES:
        raise SetUpMissing(
            "U802",
            f"Java {java.version} at {java.home} can't run Spark: it needs Java 17 or 21",
            f"install the package {_PACKAGE}, or point JAVA_HOME at a Java 17 or 21",
        )
    return java


def _locate(variables: Mapping[str, str]) -> tuple[Path, str]:
    configured = variables.get("JAVA_HOME")
    if configured:
        program = Path(configured) / "bin" / "java"
        if not program.is_file():
            raise SetUpMissing("U801", f"JAVA_HOME is {configured}, but there is no bin/java below it", _hint())
    else:
        found = shutil.which("java", path=variables.get("PATH"))
        if found is None:
            raise SetUpMissing("U801", "no Java: neither JAVA_HOME is set nor is java on PATH", _hint())
        program = Path(found)
    home = program.resolve().parent.parent
    version = _version_from_release_file(home) or _version_from_java(program)
    if version is None:
        raise SetUpMissing("U801", f"{program} does not print its version", _hint())
    return home, version


def _hint() -> str:
    return f"install Java 17 (Debian, Ubuntu: the package {_PACKAGE}), then run the command again"


def _version_from_release_file(home: Path) -> str | None:
    try:
        text = (home / "release").read_text("utf-8")
    except OSError:
        return None
    found = re.search(r'^JAVA_VERSION="(\d[\d.]*)', text, re.MULTILINE)
    return found.group(1) if found else None


def _version_from_java(program: Path) -> str | None:
    try:
        answer = subprocess.run([program, "-version"], capture_output=True, text=True, timeout=60, check=False)
    except OSError:
        return None
    found = re.search(r'version "(\d[\d.]*)', answer.stderr + answer.stdout)
    return found.group(1) if found else None


def main() -> int:
    """For set-up scripts, before anything is installed: say what is missing, and fail."""
    try:
        find_java()
    except SetUpMissing as missing:
        print(f"{missing.message}\n{missing.hint}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
