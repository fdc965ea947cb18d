"""Lists the packages; everything else about the distribution stands in pyproject.toml.

The JSON Schemas stand at the repository's root, where editors and readers look for them, and are installed as the
package `reconciler.schemas`. pyproject.toml can either find packages or list them, not add one to those it finds.
"""

from setuptools import find_packages, setup

setup(packages=[*find_packages(include=["reconciler", "reconciler.*"]), "reconciler.schemas"])
