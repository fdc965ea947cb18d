"""Addresses of connectors that are none, or whose secret holds signs of an address: errors of that connector, without it."""

from typing import Any

import pytest

from reconciler.base.errors import EngineError
from reconciler.engine.spark.emit.storage_sinks import scheme_and_authority
from reconciler.engine.spark.ingest.postgres import _address, _login
from reconciler.engine.spark.ingest.storage import storage_options

ODD = ("[", "]", "[x]", "#", "a#b", "?", "@", "%", ":", " ", "\\")


def test_a_login_is_taken_as_it_was_given() -> None:
    config: dict[str, Any] = {"uri": "postgresql://reader:sec#r[e]t@Host:5433/shop#1"}
    assert _address(config) == "jdbc:postgresql://host:5433/shop#1"
    assert _login(config) == {"user": "reader", "password": "sec#r[e]t"}


@pytest.mark.parametrize("word", ["sec/ret", "sec?ret", "12/ret", "12?ret"])
def test_an_address_that_can_not_be_told_apart_is_an_error_that_quotes_nothing(word: str) -> None:
    with pytest.raises(EngineError) as refusal:
        _address({"uri": f"postgresql://reader:{word}@host/shop"})
    shown = f"{refusal.value.message} {refusal.value.hint}"
    assert refusal.value.code == "X749"
    assert not any(part in shown for part in ("sec", "ret", "12"))


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize(
    "address", ["s3://{}/folder", "s3://buc{}ket/folder", "s3a://bucket/fol{}der", "abfss://{}@x.y/z", "{}", "/a/{}"]
)
def test_no_sign_of_a_store_s_address_is_a_mistake_of_ours(address: str, odd: str) -> None:
    location = address.format(odd)
    storage_options({"aws_access_key_id": "k"}, location)
    scheme, _ = scheme_and_authority(location)
    assert scheme == (location.partition("://")[0] if "://" in location else "")
