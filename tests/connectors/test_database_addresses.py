"""The parts of a database's address, whatever signs its password holds."""

import pytest

from reconciler.connectors.database_addresses import split_address


@pytest.mark.parametrize("word", ["plain", "a#b", "a[b", "a]b", "a[1]b", "[", "#", "a:b", "a%23b", "a=b&c", "a\\b", "ä"])
def test_a_password_holds_any_sign_that_has_no_meaning_before_the_host(word: str) -> None:
    parts = split_address(f"postgresql://reader:{word}@DB.example:5433/shop?sslmode=require&x=a@b")
    assert (parts.login, parts.path, parts.query) == (f"reader:{word}", "/shop", "sslmode=require&x=a@b")
    assert parts.host() == ("db.example", 5433)


@pytest.mark.parametrize(
    ("address", "host"),
    [
        ("postgresql://h/db", ("h", None)),
        ("postgresql://h:/db", ("h", None)),
        ("postgresql://u@[::1]:5432/db", ("::1", 5432)),
        ("postgresql:///db?options=a@b", ("", None)),
        ("postgresql://h/db#1", ("h", None)),
        ("postgresql://a,b/db", ("a,b", None)),
    ],
)
def test_hosts(address: str, host: tuple[str, int | None]) -> None:
    assert split_address(address).host() == host


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://u:p/w@h/db",
        "postgresql://u:1/w@h/db",
        "postgresql://u:p?w@h/db",
        "postgresql://u:1?w@h/db",
        "postgresql://u@h:port/db",
        "postgresql://u@h:99999/db",
        "postgresql://u@[h/db",
    ],
)
def test_what_can_not_be_told_apart_is_no_host(address: str) -> None:
    assert split_address(address).host() is None
