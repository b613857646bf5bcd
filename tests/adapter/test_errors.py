"""The two families of errors: what they say, what they carry, and that they survive a process boundary."""

from __future__ import annotations

import pickle

import msgspec
import pytest

from derive_bench.adapter import errors
from derive_bench.adapter.errors import (
    CallerError,
    DecodeError,
    DeriveBenchError,
    OrderRefused,
    PeerError,
    SigningError,
    UnknownInstrument,
)


def test_every_error_is_ours_and_of_one_family() -> None:
    for name in errors.__all__:
        kind = getattr(errors, name)
        assert issubclass(kind, DeriveBenchError)
        if kind is not DeriveBenchError:
            assert issubclass(kind, CallerError) != issubclass(kind, PeerError)


def test_callers_mistakes_are_also_what_python_code_expects() -> None:
    assert issubclass(SigningError, ValueError)
    assert issubclass(UnknownInstrument, KeyError)
    assert not issubclass(DecodeError, ValueError)


def test_the_message_says_what_and_where() -> None:
    assert str(OrderRefused("max_fee", "is too low")) == "max_fee: is too low"
    assert str(DecodeError("not a number: 'x'", "$.a[3]")) == "not a number: 'x' - at `$.a[3]`"
    assert str(UnknownInstrument("ETH-PERP")).startswith("unknown instrument 'ETH-PERP':")
    assert DecodeError("malformed").path == "$"


@pytest.mark.parametrize(
    "error",
    [DecodeError("why", "$.a"), OrderRefused("amount", "why"), UnknownInstrument("ETH-PERP"), SigningError("why"), PeerError("why")],
    ids=lambda error: type(error).__name__,
)
def test_a_pickled_error_comes_back_whole(error: DeriveBenchError) -> None:
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert str(copy) == str(error)
    assert vars(copy) == vars(error)


def test_an_error_of_the_json_library_keeps_its_path_below_the_root() -> None:
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.json.decode(b'{"a":[1,"x"]}', type=dict[str, list[int]])
    error = DecodeError.from_msgspec(caught.value, "$.params.data")
    assert error.reason == "Expected `int`, got `str`"
    assert error.path == "$.params.data[...][1]"


def test_an_error_without_a_path_is_at_the_root() -> None:
    with pytest.raises(msgspec.DecodeError) as caught:
        msgspec.json.decode(b"{")
    error = DecodeError.from_msgspec(caught.value, "$.result")
    assert (error.reason, error.path) == ("Input data was truncated", "$.result")
