"""The exact way for bare numbers: their texts kept, and the same errors at the same paths as for strings."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from msgspec import Raw, Struct

from derive_bench.adapter.errors import DecodeError
from derive_bench.adapter.lenient import NumberText, decode_payload
from derive_bench.adapter.messages import OrderBook, SpotFeed
from tests.adapter.wire import is_legal, number_text


class Inner(Struct):
    """A message within a message."""

    x: NumberText
    y: NumberText | None = None


class Outer(Struct, rename={"renamed": "wire-name"}):
    """One of everything that messages are made of."""

    n: NumberText
    renamed: NumberText
    word: str
    inner: Inner
    several: list[Inner]
    by_name: dict[str, Inner]
    maybe: Inner | None = None
    maybe_number: NumberText | None = None
    nonce: str | int = 0
    flag: bool = False
    raw: Raw = Raw()


STRINGS = (
    b'{"n":"%b","wire-name":"2.50","word":"w","inner":{"x":"3","y":"-4e5"},"several":[{"x":"0.10"}],'
    b'"by_name":{"k":{"x":"7"}},"maybe":{"x":"8"},"maybe_number":"9.0","nonce":"n","flag":true,"raw":{"a":1.50}}'
)
BARE = (
    b'{"n": %b ,"wire-name":2.50,"word":"w","inner":{"x":3,"y":-4e5},"several":[{"x":0.10}],'
    b'"by_name":{"k":{"x":7}},"maybe":{"x":8},"maybe_number":9.0,"nonce":"n","flag":true,"raw":{"a":1.50}}'
)


def plain(message: Outer) -> tuple[Any, ...]:
    return (*(getattr(message, name) for name in Outer.__struct_fields__ if name != "raw"), bytes(message.raw))


def test_bare_numbers_keep_their_text_at_every_place() -> None:
    rng = Random(1)
    for number in range(400):
        text = number_text(rng).encode() if number else b"1.000"
        strings, bare = decode_payload(Outer, STRINGS % text), decode_payload(Outer, BARE % text)
        assert plain(strings) == plain(bare)
        assert bare.n.encode() == text
    assert (bare.renamed, bare.inner.y, bare.several[0].x, bare.by_name["k"].x, bare.maybe_number) == ("2.50", "-4e5", "0.10", "7", "9.0")


def test_what_may_be_missing_or_null_is_none_beside_bare_numbers() -> None:
    for rest in ("", ',"maybe":null,"maybe_number":null'):
        message = decode_payload(
            Outer, f'{{"n":1,"wire-name":"2","word":"w","inner":{{"x":3,"y":null}},"several":[],"by_name":{{}}{rest}}}'.encode()
        )
        assert (message.maybe, message.maybe_number, message.inner.y, message.nonce, message.flag) == (None, None, None, 0, False)
        assert bytes(message.raw) == b""


@pytest.mark.parametrize("text", ["true", "false", "null", "[]", "{}", '["1"]', "1e61", "1" * 41, "-1e-61", "0." + "1" * 41])
def test_a_bare_value_that_is_no_legal_number_is_an_error_at_its_path(text: str) -> None:
    assert not is_legal(text)
    places = {
        '"n":%s': "$.root.n",
        '"wire-name":%s': "$.root.renamed",
        '"inner":{"x":%s}': "$.root.inner.x",
        '"several":[{"x":1},{"x":%s}]': "$.root.several[1].x",
        '"by_name":{"k":{"x":%s}}': "$.root.by_name.k.x",
        '"maybe":{"x":1,"y":%s}': "$.root.maybe.y",
        '"maybe_number":%s': "$.root.maybe_number",
    }
    start = '{"n":1,"wire-name":1,"word":"w","inner":{"x":1},"several":[],"by_name":{},'
    for place, path in places.items():
        if text == "null" and path.endswith(("maybe_number", "maybe.y")):
            continue
        with pytest.raises(DecodeError) as caught:
            decode_payload(Outer, (start + place % text + "}").encode(), "$.root")
        assert caught.value.path == path


@pytest.mark.parametrize(
    ("changed", "path"),
    [('"word":5', "$.word"), ('"inner":5', "$.inner"), ('"several":{}', "$.several"), ('"flag":1', "$.flag"), ('"nonce":1.5', "$.nonce")],
)
def test_other_wrong_types_are_errors_beside_bare_numbers(changed: str, path: str) -> None:
    start = '{"n":1,"wire-name":1,"word":"w","inner":{"x":1},"several":[],"by_name":{},'
    with pytest.raises(DecodeError) as caught:
        decode_payload(Outer, (start + changed + "}").encode())
    assert caught.value.path == path


@pytest.mark.parametrize("data", [b"", b"{", b"\xff", b"[" * 100_000, b'{"n":1,"wire-name":"\\ud800"}', b'{"n":01}', b"{}", b"5"])
def test_malformed_payloads_are_errors_at_the_root(data: bytes) -> None:
    with pytest.raises(DecodeError) as caught:
        decode_payload(Outer, data, "$.root")
    assert caught.value.path.startswith("$.root")


def test_a_long_number_in_a_string_is_no_worse_than_a_bare_one() -> None:
    legal, illegal = b"0." + b"0" * 60 + b"1", b"9" * 41
    for form in (b"%b", b'"%b"'):
        assert decode_payload(Inner, b'{"x":' + form % legal + b"}").x == legal.decode()
    with pytest.raises(DecodeError):
        decode_payload(Inner, b'{"x":' + illegal + b"}")


def test_lists_and_mappings_of_messages() -> None:
    assert [row.x for row in decode_payload(list[Inner], b'[{"x":1.0},{"x":"2"}]')] == ["1.0", "2"]
    assert decode_payload(dict[str, Inner], b'{"a":{"x":1.50}}')["a"].x == "1.50"
    feed = decode_payload(SpotFeed, b'{"feeds":{"ETH":{"price":3500.10},"BTC":{"price":"1"}},"timestamp":1}')
    assert {name: price.price for name, price in feed.feeds.items()} == {"ETH": "3500.10", "BTC": "1"}
    book = decode_payload(OrderBook, b'{"instrument_name":"X","timestamp":1,"publish_id":null,"bids":[[1.0,2]],"asks":[]}')
    assert (bytes(book.bids), book.publish_id) == (b"[[1.0,2]]", None)


def test_raw_members_are_taken_as_they_came() -> None:
    outer = decode_payload(Outer, BARE % b"1")
    assert decode_payload(dict[str, NumberText], outer.raw) == {"a": "1.50"}
