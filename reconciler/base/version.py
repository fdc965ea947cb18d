"""The version of this program: what records and locks say of who wrote them."""

__version__ = "0.1.0"
