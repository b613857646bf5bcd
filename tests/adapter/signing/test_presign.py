"""Presigned signatures are ordinary ones, and an entry is never used twice: threads, fork, signals, exceptions, refills.

A one-time secret used twice shows as an r that is met twice: every test that signs collects r and fails on a repeat.
"""

from __future__ import annotations

import contextlib
import copy
import gc
import hmac
import json
import os
import pickle
import random
import signal
import threading
import time
import traceback
import weakref
from collections import Counter
from typing import TYPE_CHECKING, Any

import coincurve
import msgspec
import pytest
from eth_account import Account
from eth_keys.datatypes import Signature

from derive_bench.adapter.errors import SigningError
from derive_bench.adapter.protocol import V3_MAINNET
from derive_bench.adapter.signing import ActionSigner, PresignPool, Signer, forks, keccak256, libwally, trade_words
from tests.adapter.signing.generated import BENCHMARK_KEY, HARDHAT_KEY, address

if TYPE_CHECKING:
    from collections.abc import Iterator

# From 3.12 on, Python warns of what these tests are about.
pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")

ORDER = 0xFFFFFFFF_FFFFFFFF_FFFFFFFF_FFFFFFFE_BAAEDCE6_AF48A03B_BFD25E8C_D0364141
HALF_ORDER = (ORDER // 2).to_bytes(32, "big")
DIGEST = keccak256(b"a digest")


def pair(size: int, filled: int | None = None, key: str = BENCHMARK_KEY) -> tuple[Signer, PresignPool]:
    pool = PresignPool(size)
    signer = Signer(key, presign=pool)
    pool.refill(filled)
    return signer, pool


def r_of(signature: str) -> str:
    return signature[2:66]


def assert_distinct(signatures: list[str]) -> None:
    repeated = [r for r, times in Counter(map(r_of, signatures)).items() if times > 1]
    assert not repeated, "an entry was used twice"


def assert_signed_by(signer: Signer, digest: bytes, signature: str) -> None:
    raw = bytes.fromhex(signature[2:])
    assert len(raw) == 65
    assert raw[64] in (27, 28)
    assert 0 < int.from_bytes(raw[32:64], "big") <= ORDER // 2
    assert Account._recover_hash(digest, signature=raw) == signer.address


class Captured:
    """Stands for a signer in an `ActionSigner`, and keeps the digests."""

    def __init__(self, signer: Signer) -> None:
        self.address = signer.address
        self.signed: list[tuple[bytes, str]] = []
        self._signer = signer

    def sign_hex(self, digest: bytes) -> str:
        signature = self._signer.sign_hex(digest)
        self.signed.append((digest, signature))
        return signature


def test_twenty_thousand_actions_from_eight_threads_across_refills() -> None:
    signer, pool = pair(4_000, 0)
    captured = [Captured(signer) for _ in range(8)]
    entries = threading.Semaphore(0)

    def work(mine: Captured, seed: int) -> None:
        rng = random.Random(seed)
        actions = ActionSigner(mine, V3_MAINNET, address(rng), seed)  # type: ignore[arg-type]
        words = trade_words(address(rng), rng.getrandbits(96))
        for _ in range(2_500):
            entries.acquire()
            price, amount, fee, nonce = rng.getrandbits(90), rng.getrandbits(80), rng.getrandbits(70), rng.getrandbits(63)
            actions.sign_trade(words, price - 2**89, amount, fee, rng.random() < 0.5, nonce, 1_790_872_217)

    threads = [threading.Thread(target=work, args=(mine, seed), daemon=True) for seed, mine in enumerate(captured)]
    for thread in threads:
        thread.start()
    made = 0
    while made < 20_000:
        # While the others sign; they do not wait for an entry of the pool, but for there to be one.
        added = pool.refill(min(1_000, 20_000 - made))
        made += added
        if added:
            entries.release(added)
        else:
            time.sleep(0.001)
    for thread in threads:
        thread.join()
    signed = [item for mine in captured for item in mine.signed]
    assert len(signed) == 20_000
    assert (pool.hits, pool.misses, pool.size) == (20_000, 0, 0)
    assert_distinct([signature for _, signature in signed])
    # eth-account recovers by eth_keys, which alone takes half the time.
    public_key = Account.from_key(BENCHMARK_KEY)._key_obj.public_key
    for digest, signature in signed:
        raw = bytes.fromhex(signature[2:])
        assert raw[32:64] <= HALF_ORDER
        assert Signature(raw[:64] + bytes([raw[64] - 27])).recover_public_key_from_msg_hash(digest) == public_key
    for digest, signature in signed[::20]:
        assert_signed_by(signer, digest, signature)
    assert {signature[-2:] for _, signature in signed} == {"1b", "1c"}


def test_entries_differ_from_the_deterministic_signature() -> None:
    signer, _ = pair(4, 4)
    signatures = [signer.sign_hex(DIGEST) for _ in range(4)]
    assert Signer(BENCHMARK_KEY).sign_hex(DIGEST) not in signatures
    assert_distinct(signatures)


@pytest.mark.parametrize("digest", [bytes(32), b"\xff" * 32, ORDER.to_bytes(32, "big"), (ORDER - 1).to_bytes(32, "big")])
def test_edge_digests(digest: bytes) -> None:
    signer, _ = pair(20, 20)
    for _ in range(20):
        signature = signer.sign(digest)
        public_key = coincurve.PublicKey.from_signature_and_message(signature[:64] + bytes([signature[64] - 27]), digest, hasher=None)
        assert public_key == coincurve.PrivateKey.from_hex(BENCHMARK_KEY[2:]).public_key


def test_an_empty_pool_gives_the_ordinary_signature_and_counts_it() -> None:
    signer, pool = pair(2, 0)
    ordinary = Signer(BENCHMARK_KEY).sign_hex(DIGEST)
    assert signer.sign_hex(DIGEST) == ordinary
    assert (pool.size, pool.capacity, pool.hits, pool.misses, pool.misses) == (0, 2, 0, 1, 1)
    assert pool.refill(1) == 1
    assert (pool.size, pool.hits) == (1, 0)
    assert signer.sign_hex(DIGEST) != ordinary
    assert signer.sign_hex(DIGEST) == ordinary
    assert (pool.size, pool.hits, pool.misses) == (0, 1, 2)


def test_refill_stops_at_the_capacity() -> None:
    _, pool = pair(100, 30)
    assert pool.size == 30
    assert (pool.refill(0), pool.refill(20), pool.refill()) == (0, 20, 50)
    assert (pool.refill(), pool.refill(5), pool.size) == (0, 0, 100)


def test_refills_at_once_stop_at_the_capacity_together() -> None:
    _, pool = pair(100, 0)
    threads = [threading.Thread(target=pool.refill) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (pool.size, pool.hits) == (100, 0)


@pytest.mark.parametrize("size", [0, -1, 1.5, True, "3", None])
def test_a_size_that_is_none(size: Any) -> None:
    with pytest.raises(SigningError, match=r"^presign pool: size .* is not a positive integer"):
        PresignPool(size)


@pytest.mark.parametrize("n", [-1, 1.5, True, "3"])
def test_a_refill_that_is_none(n: Any) -> None:
    _, pool = pair(2, 0)
    with pytest.raises(SigningError, match=r"^presign pool: cannot refill "):
        pool.refill(n)


def test_a_pool_without_a_signer_cannot_be_filled() -> None:
    pool = PresignPool(2)
    for fill in (pool.refill, pool.start):
        with pytest.raises(SigningError, match="it has no signer yet"):
            fill()


@pytest.mark.parametrize("key", [BENCHMARK_KEY, HARDHAT_KEY])
def test_a_pool_belongs_to_one_signer_for_good(key: str) -> None:
    signer, pool = pair(2, 2)
    with pytest.raises(SigningError, match="it belongs to another signer already"):
        Signer(key, presign=pool)
    del signer
    gc.collect()
    with pytest.raises(SigningError, match="it belongs to another signer already"):
        Signer(key, presign=pool)
    assert pool.size == 2


def test_a_signer_whose_key_is_refused_does_not_take_the_pool() -> None:
    pool = PresignPool(1)
    with pytest.raises(SigningError):
        Signer("00" * 32, presign=pool)
    Signer(BENCHMARK_KEY, presign=pool)
    assert pool.refill() == 1


def test_a_bad_digest_costs_no_entry() -> None:
    signer, pool = pair(1, 1)
    bad: list[Any] = [b"", bytes(31), bytes(33)]
    for digest in bad:
        with pytest.raises(SigningError, match=r"^digest: 32 bytes"):
            signer.sign_hex(digest)
    for digest in (None, 7, "0" * 32):
        with pytest.raises(SigningError, match=r"^digest: 32 bytes"):
            signer.sign_hex(digest)  # type: ignore[arg-type]
    assert pool.size == 1


def test_an_entry_that_gives_s_zero_is_passed_over() -> None:
    signer, pool = pair(2, 2)
    _, a, b, _, _ = pool._entries[0]
    digest = (-b * pow(a, -1, ORDER) % ORDER).to_bytes(32, "big")
    expected_r = pool._entries[1][0][2:]
    assert r_of(signer.sign_hex(digest)) == expected_r
    assert pool.size == 0


def test_a_point_whose_x_is_beyond_the_order_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    real = libwally.ec_public_key_from_private_key
    points = [b"\x02" + ORDER.to_bytes(32, "big"), b"\x03" + b"\xff" * 32]
    monkeypatch.setattr(f"{PresignPool.__module__}.ec_public_key_from_private_key", lambda k: points.pop() if points else real(k))
    signer, _ = pair(1, 1)
    assert not points
    assert_signed_by(signer, DIGEST, signer.sign_hex(DIGEST))


# -- k ------------------------------------------------------------------------------------------------------------------


def test_k_is_derived_as_documented(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.urandom", lambda n: b"\x07" * n)
    monkeypatch.setattr("time.time_ns", lambda: 123_456_789)
    _, pool = pair(3, 3)
    d = bytes.fromhex(BENCHMARK_KEY[2:])
    expected = set()
    for counter in range(3):
        message = b"derive_bench presigned k" + b"\x07" * 32
        message += b"".join(n.to_bytes(8, "big") for n in (counter, os.getpid(), 123_456_789))
        k = 1 + int.from_bytes(hmac.digest(d, message, "sha512"), "big") % (ORDER - 1)
        expected.add("0x" + coincurve.PrivateKey(k.to_bytes(32, "big")).public_key.format()[1:].hex())
    assert {entry[0] for entry in pool._entries} == expected


def test_a_broken_random_source_and_a_stopped_clock_repeat_no_k(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.urandom", bytes)
    monkeypatch.setattr("time.time_ns", lambda: 1)
    signer, pool = pair(300, 300)
    signatures = [signer.sign_hex(DIGEST) for _ in range(150)]
    pool.refill()
    signatures += [signer.sign_hex(DIGEST) for _ in range(300)]
    assert_distinct(signatures)
    assert pool.misses == 0


def test_two_pools_of_one_key_share_nothing() -> None:
    signers = [pair(200, 200)[0] for _ in range(2)]
    assert_distinct([signer.sign_hex(DIGEST) for signer in signers for _ in range(200)])


# -- threads, exceptions, signals ---------------------------------------------------------------------------------------


def test_threads_that_share_too_few_entries_make_up_for_the_rest() -> None:
    signer, pool = pair(500, 500)
    start = threading.Barrier(8)
    results: list[list[str]] = []

    def work() -> None:
        start.wait()
        results.append([signer.sign_hex(DIGEST) for _ in range(100)])

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ordinary = Signer(BENCHMARK_KEY).sign_hex(DIGEST)
    presigned = [s for mine in results for s in mine if s != ordinary]
    assert len(presigned) == pool.hits == 500
    assert pool.misses == 300
    assert_distinct(presigned)


def test_an_exception_in_the_middle_loses_the_entry() -> None:
    class Hostile(int):
        """Stands for a, and raises where the signature is computed: after the entry was taken."""

        def __mul__(self, other: int) -> int:
            raise KeyboardInterrupt

    signer, pool = pair(20, 20)
    for n in range(0, 20, 2):
        head, a, b, low, negated = pool._entries[n]
        pool._entries[n] = (head, Hostile(a), b, low, negated)
    hostile = {pool._entries[n][0][2:] for n in range(0, 20, 2)}
    signatures = []
    for n in range(20):
        if n % 2 == 0:
            with pytest.raises(KeyboardInterrupt):
                signer.sign_hex(DIGEST)
        else:
            signatures.append(signer.sign_hex(DIGEST))
    assert (pool.size, pool.hits, pool.misses) == (0, 20, 0)
    assert_distinct(signatures)
    assert hostile.isdisjoint(map(r_of, signatures))


@pytest.mark.parametrize("kind", [bytearray, memoryview])
def test_other_buffers_are_signed_the_ordinary_way(kind: Any) -> None:
    signer, pool = pair(1, 1)
    assert signer.sign_hex(kind(DIGEST)) == Signer(BENCHMARK_KEY).sign_hex(DIGEST)
    assert pool.size == 1


def test_signal_handlers_that_raise_sign_and_refill() -> None:
    signer, pool = pair(3_000, 3_000)
    signatures: list[str] = []
    turns = 0

    def handler(signum: int, frame: object) -> None:
        nonlocal turns
        turns += 1
        if turns % 3 == 0:
            pool.refill(2)
        signatures.append(signer.sign_hex(DIGEST))
        if turns % 2:
            raise KeyboardInterrupt

    previous = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.0003, 0.0003)
    interrupted = 0
    try:
        while turns < 200 and pool.misses == 0:
            try:
                while turns < 200 and pool.misses == 0:
                    signatures.append(signer.sign_hex(DIGEST))
                    if pool.size < 100:
                        pool.refill(500)
            except KeyboardInterrupt:
                interrupted += 1
    finally:
        with contextlib.suppress(KeyboardInterrupt):
            signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    assert interrupted
    ordinary = Signer(BENCHMARK_KEY).sign_hex(DIGEST)
    assert_distinct([signature for signature in signatures if signature != ordinary])


# -- fork ---------------------------------------------------------------------------------------------------------------


def in_child(fork: Any, work: Any) -> Any:
    """Run `work` in a forked child and return what it returned, by way of JSON."""
    reader, writer = os.pipe()
    child = fork()
    if child == 0:  # pragma: no cover
        try:
            os.write(writer, json.dumps(work()).encode())
        except BaseException as error:
            os.write(writer, json.dumps(f"{type(error).__name__}: {error}").encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        result = json.load(stream)
    os.waitpid(child, 0)
    return result


def fork_by_c() -> int:
    """A fork that Python does not see, so that no hook of `os.register_at_fork` runs."""
    import ctypes

    return int(ctypes.PyDLL(None).fork())


@pytest.mark.parametrize("fork", [os.fork, fork_by_c])
def test_a_child_has_no_entry(fork: Any) -> None:
    signer, pool = pair(50, 20)
    hits = pool.hits

    def child() -> Any:
        sizes = [pool.size]
        signatures = [signer.sign_hex(DIGEST) for _ in range(3)]
        found = [pool.hits, pool.misses]
        added = pool.refill(10)
        signatures += [signer.sign_hex(DIGEST) for _ in range(10)]
        return [sizes, signatures, found, added, pool.size, pool.hits]

    ordinary = Signer(BENCHMARK_KEY).sign_hex(DIGEST)
    collected = []
    for _ in range(10):
        sizes, signatures, found, added, left, hits_then = in_child(fork, child)
        assert sizes == [0]
        assert signatures[:3] == [ordinary] * 3
        assert found == [hits, 3]
        assert (added, left, hits_then) == (10, 0, hits + 10)
        collected += signatures[3:]
    assert (pool.size, pool.misses) == (20, 0)
    assert_distinct(collected + [signer.sign_hex(DIGEST) for _ in range(20)])


@pytest.mark.parametrize("fork", [os.fork, fork_by_c])
def test_a_child_may_refill_first(fork: Any) -> None:
    _signer, pool = pair(10, 5)
    added, size = in_child(fork, lambda: [pool.refill(3), pool.size])
    assert (added, size) == (3, 3)
    assert pool.size == 5


@pytest.mark.parametrize("use", [lambda s, p: s.sign_hex(DIGEST), lambda s, p: p.refill(0), lambda s, p: p.start()])
def test_each_use_checks_the_process_id(use: Any) -> None:
    signer, pool = pair(10, 5)
    inherited = pool._entries
    pool._pid -= 1  # as after a fork that no hook has seen
    assert pool.size == 0
    use(signer, pool)
    pool.stop()
    assert not inherited
    assert pool._entries is not inherited


def test_the_hook_empties_every_pool() -> None:
    kept = [pair(3, 3) for _ in range(3)]
    forks._in_child()
    assert [pool.size for _, pool in kept] == [0, 0, 0]


def test_a_child_of_a_broken_random_source_repeats_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.urandom", bytes)
    monkeypatch.setattr("time.time_ns", lambda: 1)
    signer, pool = pair(20, 0)

    def work() -> list[str]:
        pool.refill(20)
        return [signer.sign_hex(DIGEST) for _ in range(20)]

    assert_distinct([*in_child(os.fork, work), *in_child(os.fork, work), *work()])


@pytest.mark.parametrize("fork", [os.fork, fork_by_c])
def test_a_fork_in_the_middle_of_a_refill(fork: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    signer, pool = pair(30, 0)
    real = os.urandom
    draws: list[Any] = []

    def urandom(n: int) -> bytes:
        noise = real(n)
        draws.append(None)
        if len(draws) == 3:
            # As a signal handler might. The child goes on with the refill, having the same noise as the parent.
            reader, writer = os.pipe()
            child = fork()
            if child == 0:
                draws.append(writer)
            else:
                os.close(writer)
                draws.append((reader, child))
        return noise

    monkeypatch.setattr("os.urandom", urandom)
    added = pool.refill(10)
    link = next(item for item in draws if item is not None)
    signatures = [signer.sign_hex(DIGEST) for _ in range(10)]
    ordinary = Signer(BENCHMARK_KEY).sign_hex(DIGEST)
    if isinstance(link, int):  # pragma: no cover
        presigned = [signature for signature in signatures if signature != ordinary]
        os.write(link, json.dumps([added, presigned]).encode())
        os._exit(0)
    reader, child = link
    with os.fdopen(reader, "rb") as stream:
        childs_added, childs = json.load(stream)
    os.waitpid(child, 0)
    assert (added, childs_added, childs) == (10, 0, [])
    assert_distinct(signatures)


def test_a_fork_while_another_thread_refills() -> None:
    signer, pool = pair(400, 0)
    thread = threading.Thread(target=pool.refill)
    thread.start()
    child_results = [in_child(os.fork, lambda: [pool.refill(3), [signer.sign_hex(DIGEST) for _ in range(3)]]) for _ in range(5)]
    thread.join()
    assert [added for added, _ in child_results] == [3] * 5
    own = [signer.sign_hex(DIGEST) for _ in range(400)]
    assert_distinct(own + [signature for _, signatures in child_results for signature in signatures])


# -- the thread ---------------------------------------------------------------------------------------------------------


def wait_for(condition: Any, seconds: float = 10.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.002)


def refill_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "presign-refill"]


@pytest.fixture
def _no_thread_left() -> Iterator[None]:
    yield
    wait_for(lambda: not refill_threads())


@pytest.mark.usefixtures("_no_thread_left")
def test_the_thread_keeps_the_pool_full() -> None:
    signer, pool = pair(40, 0)
    pool.start(pause_sec=0.0001)
    pool.start()
    assert len(refill_threads()) == 1
    signatures = []
    for _ in range(3):
        wait_for(lambda: pool.size == 40)
        signatures += [signer.sign_hex(DIGEST) for _ in range(40)]
    pool.stop()
    pool.stop()
    ordinary = Signer(BENCHMARK_KEY).sign_hex(DIGEST)
    assert_distinct([signature for signature in signatures if signature != ordinary])
    assert pool.hits >= 120 - pool.misses
    size = pool.size
    time.sleep(0.03)
    assert pool.size == size
    pool.start(pause_sec=0.0001)
    wait_for(lambda: pool.size == 40)
    pool.stop()


@pytest.mark.usefixtures("_no_thread_left")
def test_the_thread_ends_with_the_pool() -> None:
    signer, pool = pair(5, 0)
    pool.start()
    gone = weakref.ref(pool)
    del signer, pool
    wait_for(lambda: gc.collect() >= 0 and gone() is None)


@pytest.mark.usefixtures("_no_thread_left")
def test_a_child_has_no_thread_until_it_starts_one() -> None:
    _, pool = pair(5, 0)
    pool.start()

    def child() -> Any:
        before = pool.size
        pool.start(pause_sec=0.0001)
        deadline = time.monotonic() + 5
        while pool.size < 5 and time.monotonic() < deadline:
            time.sleep(0.002)
        return [before, pool.size]

    assert in_child(os.fork, child) == [0, 5]
    pool.stop()


# -- secrecy ------------------------------------------------------------------------------------------------------------


def test_a_pool_shows_counts_and_nothing_else() -> None:
    signer, pool = pair(3, 3)
    signer.sign_hex(DIGEST)
    assert repr(pool) == str(pool) == f"{pool}" == "PresignPool(size=2, capacity=3, hits=1, misses=0)"
    with pytest.raises(TypeError):
        vars(pool)


@pytest.mark.parametrize("n", [-1, "3"])
def test_no_error_of_a_pool_shows_a_secret_even_with_local_variables(n: Any) -> None:
    _, pool = pair(3, 3)
    entries = list(pool._entries)
    with pytest.raises(SigningError) as caught:
        pool.refill(n)
    ours = caught.value.__traceback__.tb_next  # type: ignore[union-attr]
    text = "".join(traceback.TracebackException(type(caught.value), caught.value, ours, capture_locals=True).format())
    assert "pool" in text
    assert "PresignPool(size=3, capacity=3, hits=0, misses=0)" in text
    secrets = [BENCHMARK_KEY[2:], str(int(BENCHMARK_KEY, 16))] + [str(number) for entry in entries for number in entry[1:3]]
    assert not any(secret in text for secret in secrets)


def test_a_pool_cannot_be_copied_pickled_iterated_or_sliced() -> None:
    _, pool = pair(3, 3)
    attempts: list[Any] = [
        copy.copy,
        copy.deepcopy,
        json.dumps,
        msgspec.json.encode,
        msgspec.to_builtins,
        iter,
        list,
        next,
        reversed,
        len,
        lambda p: p[0],
        lambda p: p[:],
        lambda p: [*p],
        lambda p: 1 in p,
        lambda p: p.__getstate__(),
        lambda p: p + p,
    ]
    attempts += [lambda p, n=n: pickle.dumps(p, n) for n in range(pickle.HIGHEST_PROTOCOL + 1)]
    for attempt in attempts:
        with pytest.raises(TypeError):
            attempt(pool)
    assert pool.size == 3
