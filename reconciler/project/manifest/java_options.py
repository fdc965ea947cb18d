"""Options of Spark's Java process that would set Spark's own settings, past those that reconcile.yaml names.

A property of Java that begins with `spark.` is a setting of Spark (`SparkConf` reads them all). Whether queries are read as
Spark reads them by itself is judged by the settings that are named, so one that is hidden among Java's options would be
overlooked; so would one in a file of options, which isn't seen at all.
"""

import shlex
from typing import Final

JAVA_OPTIONS: Final = ("spark.driver.defaultJavaOptions", "spark.driver.extraJavaOptions")

_PROPERTY: Final = "-Dspark."
_FILES: Final = ("@", "-XX:Flags=", "-XX:VMOptionsFile=")


def settings_among(options: str) -> tuple[str, ...]:
    """The settings of Spark that Java options set."""
    properties = (option.removeprefix("-D") for option in _split(options) if option.startswith(_PROPERTY))
    return tuple(one.partition("=")[0] for one in properties)


def files_among(options: str) -> tuple[str, ...]:
    """The files of options that Java options name."""
    return tuple(option for option in _split(options) if option.startswith(_FILES))


def _split(options: str) -> list[str]:
    try:
        return shlex.split(options)
    except ValueError:
        # A quote that is not closed: Spark refuses it when it starts.
        return options.split()
