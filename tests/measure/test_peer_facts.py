"""Facts of two libraries: what counts as the same."""

from __future__ import annotations

from typing import Any

import pytest

from derive_bench.measure.peers.facts import difference

SIGNATURE = "0x" + "ab" * 65


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ({"price": "2874.30"}, {"price": "2874.3"}),
        ({"price": "2874.30"}, {"price": 2874.3}),
        ({"price": "0.1"}, {"price": 0.1}),
        ({"nonce": "1790871617137835612"}, {"nonce": 1790871617137835612}),
        ({"price": "1", "id": "x"}, {"price": "1.0", "extra": "y"}),
        ({"wallet": "0xABCD"}, {"wallet": "0xabcd"}),
        ({"bids": [["1.50", "2"], ["1", "3"]]}, {"bids": [[1.5, 2.0], ["1.0", 3]]}),
        ({"label": None}, {"label": None}),
        ({"signature": SIGNATURE}, {"signature": SIGNATURE[2:].upper()}),
    ],
)
def test_the_same(ours: Any, theirs: Any) -> None:
    assert difference(ours, theirs) is None


@pytest.mark.parametrize(
    ("ours", "theirs", "words"),
    [
        ({"price": "2874.30"}, {"price": "2874.31"}, "price: 2874.31 in place of 2874.30"),
        ({"nonce": "1790871617137835612"}, {"nonce": "1790871617137835613"}, "nonce: "),
        ({"price": "0.1"}, {"price": 0.1000000001}, "price: "),
        ({"bids": [["1", "2"]]}, {"bids": []}, "bids: 0 in place of 1"),
        ({"bids": [["1", "2"]]}, {"bids": [["1", "3"]]}, r"bids[0][1]: 3 in place of 2"),
        ({"side": "buy"}, {"side": "sell"}, "side: sell in place of buy"),
        ({"label": "a"}, {"label": None}, "label: None in place of a"),
        ({"signature": SIGNATURE}, {"signature": SIGNATURE[:-1] + "c"}, "signature: 0xabababab…"),
        ({"signature": SIGNATURE}, {"signature": "nonsense"}, "signature: nonsense in place of"),
        ({"price": "1"}, {"other": "1"}, "it says nothing that could be compared"),
        ({"price": "1"}, {}, "it says nothing that could be compared"),
        ({"price": "1"}, None, "it says nothing that could be compared"),
        ({"price": "1"}, "ValueError: no", "ValueError: no"),
    ],
)
def test_not_the_same(ours: Any, theirs: Any, words: str) -> None:
    found = difference(ours, theirs)
    assert found is not None
    assert found.startswith(words)


def test_where_a_signature_is_due_there_must_be_one() -> None:
    assert difference({"nonce": 1, "signature": SIGNATURE}, {"nonce": 1}, signed=True) == "there is no signature"
