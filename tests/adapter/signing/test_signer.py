"""`Signer`: signatures byte for byte, keys in all their forms, and that a key never shows."""

from __future__ import annotations

import copy
import json
import logging
import pickle
import random
import subprocess
import sys
import threading
import traceback
from typing import Any

import coincurve
import msgspec
import pytest
from eth_account import Account

from derive_bench.adapter.errors import SigningError
from derive_bench.adapter.protocol import V3_MAINNET
from derive_bench.adapter.signing import Signer, keccak256, login_params, rest_auth_headers
from derive_bench.adapter.signing.eip191 import eip191_digest
from derive_bench.adapter.signing.signer import signature_hex
from tests.adapter.signing.generated import BENCHMARK_KEY, HARDHAT_KEY

ORDER = 0xFFFFFFFF_FFFFFFFF_FFFFFFFF_FFFFFFFE_BAAEDCE6_AF48A03B_BFD25E8C_D0364141


def by_coincurve(key: coincurve.PrivateKey, digest: bytes) -> bytes:
    signature = key.sign_recoverable(digest, hasher=None)
    return signature[:64] + bytes([27 + signature[64]])


def test_signatures_are_coincurve_s_and_low_s() -> None:
    rng = random.Random(1)
    headers = set()
    for _ in range(10):
        secret = rng.randrange(1, ORDER).to_bytes(32, "big")
        signer, key = Signer(secret), coincurve.PrivateKey(secret)
        for _ in range(100):
            digest = rng.randbytes(32)
            signature = signer.sign(digest)
            assert signature == by_coincurve(key, digest)
            assert signer.sign_hex(digest) == "0x" + signature.hex()
            assert int.from_bytes(signature[32:64], "big") <= ORDER // 2
            headers.add(signature[64])
    assert headers == {27, 28}


@pytest.mark.parametrize("digest", [bytes(32), b"\xff" * 32, ORDER.to_bytes(32, "big"), (ORDER - 1).to_bytes(32, "big")])
@pytest.mark.parametrize("secret", [1, 2, ORDER - 1, ORDER // 2])
def test_edges(digest: bytes, secret: int) -> None:
    key = secret.to_bytes(32, "big")
    assert Signer(key).sign(digest) == by_coincurve(coincurve.PrivateKey(key), digest)


def test_recovery_ids_beyond_one_are_kept() -> None:
    # Never met with a real key: r beyond the group order.
    assert signature_hex(bytes([33]) + bytes(64)) == "0x" + "00" * 64 + "1d"


def test_addresses_are_checksummed() -> None:
    rng = random.Random(2)
    for _ in range(100):
        secret = rng.randbytes(32)
        assert Signer(secret).address == Account.from_key(secret).address


def test_every_form_of_a_key() -> None:
    raw = bytes.fromhex(HARDHAT_KEY[2:])
    forms: list[Any] = [HARDHAT_KEY, HARDHAT_KEY[2:], HARDHAT_KEY.upper().replace("0X", "0x"), "0X" + HARDHAT_KEY[2:], raw, bytearray(raw)]
    assert {Signer(form).address for form in forms} == {"0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"}


def test_a_signer_has_a_copy_of_a_mutable_key() -> None:
    raw = bytearray.fromhex(HARDHAT_KEY[2:])
    signer = Signer(raw)  # type: ignore[arg-type]
    raw[:] = bytes(32)
    assert signer.sign(bytes(32)) == Signer(HARDHAT_KEY).sign(bytes(32))


def with_locals(error: BaseException) -> str:
    """The traceback as a tool shows it that prints local variables, without the test's own frame."""
    ours = error.__traceback__.tb_next if error.__traceback__ else None
    assert ours is not None
    return "".join(traceback.TracebackException(type(error), error, ours, capture_locals=True).format())


BAD_KEYS = [
    "",
    "0x",
    HARDHAT_KEY[:-1],
    HARDHAT_KEY + "0",
    HARDHAT_KEY[:-1] + "g",
    " " + HARDHAT_KEY,
    HARDHAT_KEY + "\n",
    "00" * 32,
    "ff" * 32,
    ORDER.to_bytes(32, "big"),
    bytes(32),
    bytes.fromhex(HARDHAT_KEY[2:]) + b"\0",
    b"",
    int(HARDHAT_KEY, 16),
    None,
]


@pytest.mark.parametrize("key", BAD_KEYS, ids=range(len(BAD_KEYS)))
def test_a_bad_key_is_refused_without_showing_it(key: Any) -> None:
    with pytest.raises(SigningError, match=r"^private key: 32 bytes, or 64 hex digits") as caught:
        Signer(key)
    text = with_locals(caught.value)
    assert HARDHAT_KEY[2:40] not in text
    assert str(int(HARDHAT_KEY, 16))[:20] not in text


@pytest.mark.parametrize("digest", [b"", bytes(31), bytes(33), "0" * 32, None, 7, HARDHAT_KEY])
def test_a_bad_digest_is_refused_without_showing_anything(digest: Any) -> None:
    signer = Signer(HARDHAT_KEY)
    with pytest.raises(SigningError, match=r"^digest: 32 bytes are needed, not ") as caught:
        signer.sign(digest)
    text = with_locals(caught.value)
    assert (HARDHAT_KEY[2:] in text) == (digest == HARDHAT_KEY)
    assert str(bytes.fromhex(HARDHAT_KEY[2:]))[2:-1] not in text


def shows_key(text: str) -> bool:
    raw = bytes.fromhex(HARDHAT_KEY[2:])
    return any(part in text for part in (HARDHAT_KEY[2:], HARDHAT_KEY[2:].upper(), repr(raw)[2:-1], str(int.from_bytes(raw, "big"))))


def test_a_key_never_shows(caplog: pytest.LogCaptureFixture) -> None:
    signer = Signer(HARDHAT_KEY)
    assert repr(signer) == "Signer(0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266)"
    with caplog.at_level(logging.DEBUG):
        logging.getLogger("test").warning("%s %r", signer, [signer])
    texts = [str(signer), f"{signer}", repr({"signer": signer}), caplog.text]
    texts += [repr(getattr(signer, name)) for name in dir(signer) if name != "__dict__"]
    assert not any(map(shows_key, texts))
    with pytest.raises(TypeError):
        vars(signer)


def test_a_signer_cannot_be_pickled_copied_or_serialised() -> None:
    signer = Signer(HARDHAT_KEY)
    attempts: list[Any] = [copy.copy, copy.deepcopy, json.dumps, msgspec.json.encode, msgspec.to_builtins, lambda s: s.__getstate__()]
    attempts += [lambda s, n=n: pickle.dumps(s, n) for n in range(pickle.HIGHEST_PROTOCOL + 1)]
    for attempt in attempts:
        with pytest.raises(TypeError) as caught:
            attempt(signer)
        assert not shows_key(str(caught.value))
    with pytest.raises(SigningError, match="a Signer cannot be pickled or copied"):
        pickle.dumps([signer])


def test_threads_share_a_signer() -> None:
    signer = Signer(HARDHAT_KEY)
    digests = [keccak256(b"%d" % n) for n in range(200)]
    expected = [signer.sign_hex(digest) for digest in digests]
    results: list[list[str]] = []
    threads = [threading.Thread(target=lambda: results.append([signer.sign_hex(d) for d in digests])) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [expected] * 4


@pytest.mark.parametrize("text", ["", "0", "1790871617137", "ключ", "x" * 1_000])
def test_eip191_counts_bytes(text: str) -> None:
    from eth_account.messages import encode_defunct

    signature = Account.sign_message(encode_defunct(text=text), HARDHAT_KEY).signature
    assert Signer(HARDHAT_KEY).sign(eip191_digest(text)) == bytes(signature)


@pytest.mark.parametrize("proof", [rest_auth_headers, login_params])
def test_proofs_refuse_what_is_no_wallet_or_time(proof: Any) -> None:
    signer = Signer(BENCHMARK_KEY)
    for time in (-1, 1.5, True, "1", None):
        with pytest.raises(SigningError, match=r"^timestamp: "):
            proof(signer, V3_MAINNET, signer.address, time)
    with pytest.raises(SigningError, match=r"^wallet: 'me' is not an address"):
        proof(signer, V3_MAINNET, "me", 1)


def test_a_login_s_timestamp_can_be_a_number() -> None:
    protocol = V3_MAINNET.replace(login_timestamp_is_text=False)
    signer = Signer(BENCHMARK_KEY)
    assert login_params(signer, protocol, signer.address, 12)["timestamp"] == 12


def test_keccak_is_ethereum_s() -> None:
    import sha3
    from Crypto.Hash import keccak

    for size in (0, 1, 66, 135, 136, 137, 224, 256, 1_000):
        data = random.Random(size).randbytes(size)
        assert keccak256(data) == sha3.keccak_256(data).digest() == keccak.new(digest_bits=256, data=data).digest()


@pytest.mark.parametrize("before", ["", "import wallycore; "])
def test_an_interpreter_whose_warnings_are_errors_lives_to_its_end(before: str) -> None:
    statement = before + "from derive_bench.adapter.signing import Signer; Signer('01' * 32).sign(bytes(32)); print('signed')"
    command = [sys.executable, "-W", "error", "-c", statement]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "signed\n", "")
