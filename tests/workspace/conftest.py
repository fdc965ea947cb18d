"""The fixtures of tests/shops that the tests of this folder use."""

from tests.shops.fixtures import root

__all__ = ["root"]
