"""The parts of a database's address: `postgresql://user:password@host:port/database?option=value`.

Cut as PostgreSQL's own clients cut it: only `/`, `?` and `@` have a meaning before the host, so a password may hold `#`,
`[` or `]` as they are. Whoever may load code by an option and whoever connects cut alike, or one would see options that the
other does not.
"""

import re
from typing import Final

from reconciler.base.dataclass import dataclass

_HOST: Final = re.compile(r"(?:\[(?P<six>[^\[\]@/]+)\]|(?P<host>[^\[\]:@]*))(?::(?P<port>[0-9]{0,5}))?")


@dataclass(frozen=True, slots=True)
class AddressParts:
    """Parts as they are written; `login` and `query` are empty where there are none, `path` begins with its slash."""

    login: str
    place: str
    path: str
    query: str

    def host(self) -> tuple[str, int | None] | None:
        """The host in lower case, an address of IPv6 without its brackets, and the port, if there is one. None: that can't
        be told, most often since the login holds a sign that has a meaning of its own."""
        found = _HOST.fullmatch(self.place)
        rest = self.path if self.path else self.query
        if found is None or (not self.login and "@" in rest):
            return None
        port = int(found["port"]) if found["port"] else None
        if port is not None and port > 65535:
            return None
        return (found["six"] or found["host"]).lower(), port


def split_address(address: str) -> AddressParts:
    """The parts of an address; of what is none, parts that make no sense."""
    rest = address.partition("://")[2]
    end = re.search(r"[/?]|\Z", rest)
    assert end is not None
    login, _, place = rest[: end.start()].rpartition("@")
    path, _, query = rest[end.start() :].partition("?")
    return AddressParts(login, place, path, query)
