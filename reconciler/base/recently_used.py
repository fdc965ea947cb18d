"""Values that are kept for the next time, those that were used last: a size bounds them all together, and the one that was
used longest ago goes first. Not for several threads at once: whoever has one guards it."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

_Key = TypeVar("_Key", bound=Hashable)
_Value = TypeVar("_Value")


class RecentlyUsed(Generic[_Key, _Value]):
    """See the module. `size_of` gives the size of a value; each counts as one where it is not given."""

    def __init__(self, most: int, size_of: Callable[[_Value], int] = lambda value: 1) -> None:
        self._most = most
        self._size_of = size_of
        self._values: OrderedDict[_Key, _Value] = OrderedDict()
        self.size = 0

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: _Key) -> _Value | None:
        """The value of a key, which is used now."""
        value = self._values.get(key)
        if value is not None:
            self._values.move_to_end(key)
        return value

    def put(self, key: _Key, value: _Value) -> None:
        """Keep a value, which is used now, in place of what the key had."""
        self.pop(key)
        self._values[key] = value
        self.size += self._size_of(value)
        while self.size > self._most:
            self.size -= self._size_of(self._values.popitem(last=False)[1])

    def pop(self, key: _Key) -> _Value | None:
        """Let go of a key, and give what it had."""
        value = self._values.pop(key, None)
        if value is not None:
            self.size -= self._size_of(value)
        return value

    def clear(self) -> None:
        """Let go of all."""
        self._values.clear()
        self.size = 0
