"""Nonces: their form, that they never repeat or go back, from threads, with bad clocks, across fork."""

from __future__ import annotations

import copy
import itertools
import os
import pickle
import signal
import threading
import time
from itertools import count
from typing import TYPE_CHECKING

import pytest

from derive_bench.adapter.errors import SigningError
from derive_bench.adapter.protocol import V2_MAINNET, V3_MAINNET, Protocol
from derive_bench.adapter.signing import NonceBook, NonceSource, forks

if TYPE_CHECKING:
    from collections.abc import Iterator

# From 3.12 on, Python warns of what these tests are about.
pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")

NOW_NS = 1_790_871_617_137_835_612
WALLET = "0x000000000000000000000000000000000000aBcD"


class Clock:
    def __init__(self, now_ns: int = NOW_NS) -> None:
        self.now_ns = now_ns

    def __call__(self) -> int:
        return self.now_ns


def test_v3_nonces_are_nanoseconds() -> None:
    before = time.time_ns()
    nonce = NonceSource(V3_MAINNET).next()
    assert before <= nonce <= time.time_ns() + 10**9
    assert len(str(nonce)) == 19


def test_v2_nonces_are_milliseconds_and_three_digits() -> None:
    nonce = NonceSource(V2_MAINNET, Clock()).next()
    assert str(nonce) == "1790871617137835"
    assert nonce // 1_000 == NOW_NS // 10**6


@pytest.mark.parametrize("protocol", [V3_MAINNET, V2_MAINNET], ids=lambda p: p.name)
def test_a_clock_that_stands_still_jumps_or_goes_back(protocol: Protocol) -> None:
    clock = Clock()
    source = NonceSource(protocol, clock)
    nonces = []
    for step in (0, 0, 1, -1, 10**9, 10**9 - 1, -(10**10), 0, 2 * 10**9, 10**12, -(10**12), 10**9):
        clock.now_ns += step
        nonces += [source.next() for _ in range(5)]
    assert all(earlier < later for earlier, later in itertools.pairwise(nonces))


def test_nonces_follow_the_clock_within_a_second() -> None:
    clock = Clock()
    source = NonceSource(V3_MAINNET, clock)
    for _ in range(50):
        clock.now_ns += 300_000_000
        assert clock.now_ns - 10**9 <= source.next() <= clock.now_ns


def test_a_renewed_counter_starts_beyond_what_late_threads_draw_from_the_old_one(monkeypatch: pytest.MonkeyPatch) -> None:
    counters: list[count[int]] = []

    def seen_count(start: int) -> count[int]:
        counters.append(count(start))
        return counters[-1]

    monkeypatch.setattr(f"{NonceSource.__module__}.count", seen_count)
    clock = Clock()
    source = NonceSource(V2_MAINNET, clock)
    # Ahead of the clock, as a v2 stream of more than a nonce a microsecond is, when its counter is replaced.
    source.advance(NOW_NS // 1_000 + 5_000_000)
    clock.now_ns += 10**9
    renewed = source.next()
    assert len(counters) == 3
    assert [next(counters[1]) for _ in range(4_000)][-1] < renewed
    assert renewed == NOW_NS // 1_000 + 5_000_001 + 4_096


@pytest.mark.parametrize("protocol", [V3_MAINNET, V2_MAINNET], ids=lambda p: p.name)
def test_threads_never_get_the_same_nonce(protocol: Protocol) -> None:
    # A clock of which every read jumps: renewals all the time, from all threads.
    ticks = iter(range(NOW_NS, NOW_NS + 10**15, 10**8))
    lock = threading.Lock()

    def clock() -> int:
        with lock:
            return next(ticks)

    source = NonceSource(protocol, clock)
    drawn: list[list[int]] = [[] for _ in range(8)]

    def draw(mine: list[int]) -> None:
        for turn in range(2_000):
            mine.append(source.next())
            if turn % 100 == 0:
                source.advance(mine[-1] + 3)

    threads = [threading.Thread(target=draw, args=(mine,)) for mine in drawn]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({nonce for mine in drawn for nonce in mine}) == 16_000
    for mine in drawn:
        assert mine == sorted(mine)


def test_advance() -> None:
    clock = Clock()
    source = NonceSource(V3_MAINNET, clock)
    first = source.next()
    source.advance(first - 10**9)
    source.advance(first)
    assert first < source.next() < first + 10
    source.advance(NOW_NS + 10**12)
    assert source.next() > NOW_NS + 10**12
    source.advance(NOW_NS)
    assert source.next() > NOW_NS + 10**12


def test_advance_by_own_reports_does_not_run_ahead() -> None:
    source = NonceSource(V2_MAINNET, Clock())
    for _ in range(1_000):
        source.advance(source.next())
    assert source.next() < NOW_NS // 1_000 + 5_000


@pytest.mark.parametrize(
    ("protocol", "seen"),
    [(V3_MAINNET, NOW_NS + 3_601 * 10**9), (V3_MAINNET, 10**19), (V3_MAINNET, -1), (V2_MAINNET, 10**16), (V2_MAINNET, NOW_NS)],
)
def test_advance_refuses_what_would_spoil_all_later_nonces(protocol: Protocol, seen: int) -> None:
    source = NonceSource(protocol, Clock())
    with pytest.raises(SigningError, match=rf"^nonce: {seen} cannot be a used nonce of {protocol.name}"):
        source.advance(seen)
    assert source.next() < NOW_NS + 10**9


def test_a_signal_handler_may_draw_at_any_time() -> None:
    clock_reads = iter(range(NOW_NS, NOW_NS + 10**15, 10**9))
    source = NonceSource(V3_MAINNET, lambda: next(clock_reads))  # every draw renews
    drawn: list[int] = []
    signals = 0

    def handler(signum: int, frame: object) -> None:
        nonlocal signals
        signals += 1
        drawn.append(source.next())

    previous = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
    try:
        while signals < 100:
            drawn.append(source.next())
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    assert len(set(drawn)) == len(drawn)


def test_a_draw_that_interrupts_a_renewal(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    source = NonceSource(V2_MAINNET, clock)
    inner: list[int] = []

    def interrupted_count(start: int) -> Iterator[int]:
        # The last moment of a renewal, when a signal handler draws.
        if inner == [0]:
            inner[0] = -1
            inner[0] = source.next()
        return count(start)

    monkeypatch.setattr(f"{NonceSource.__module__}.count", interrupted_count)
    source.advance(NOW_NS // 1_000 + 5_000_000)
    inner.append(0)
    clock.now_ns += 10**9
    later = [source.next() for _ in range(10)]
    assert 0 < inner[0] < later[0]
    assert later == sorted(set(later))


def test_a_forked_child_starts_anew() -> None:
    clock = Clock()
    held = threading.Event()
    release = threading.Event()

    def blocking_clock() -> int:
        if threading.current_thread() is thread and thread.name == "renews":
            held.set()
            release.wait()
        thread.name = "renews"  # the second read of the thread is within the lock
        return clock.now_ns

    thread = threading.Thread(target=lambda: source.next())
    source = NonceSource(V3_MAINNET, blocking_clock)
    thread.name = "draws"
    clock.now_ns += 10**9
    thread.start()
    held.wait()
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:  # pragma: no cover
        # The lock's holder is not here; a draw must not wait for it.
        clock.now_ns += 10**9
        os.write(writer, str(source.next()).encode())
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    release.set()
    thread.join()
    childs = int(os.read(reader, 100))
    os.close(reader)
    os.close(writer)
    assert childs == NOW_NS + 2 * 10**9 > source.next()


@pytest.mark.parametrize("copier", [copy.copy, copy.deepcopy, pickle.dumps])
def test_sources_cannot_be_copied(copier: object) -> None:
    for thing in (NonceSource(V3_MAINNET), NonceBook(V3_MAINNET)):
        with pytest.raises(TypeError, match="cannot be pickled or copied"):
            copier(thing)  # type: ignore[operator]


def test_a_book_has_one_source_for_each_subaccount_whatever_the_wallet_s_case() -> None:
    book = NonceBook(V3_MAINNET, Clock())
    source = book.source(WALLET, 1)
    assert book.source(WALLET.lower(), 1) is source
    assert book.source("0x" + WALLET[2:].upper(), 1) is source
    assert book.source(WALLET, 2) is not source
    assert book.source("0x" + "1" * 40, 1) is not source
    assert source.next() == NOW_NS
    with pytest.raises(SigningError, match=r"^wallet: 'me' is not an address"):
        book.source("me", 1)


def test_the_hook_renews_every_source() -> None:
    clock = Clock()
    source = NonceSource(V3_MAINNET, clock)
    first = source.next()
    clock.now_ns += 10**6
    forks._in_child()
    assert source.next() == NOW_NS + 10**6 > first
