"""Presigned orders: the costly part of a signature done before the order is known.

What it does
    An ECDSA signature is (r, s) with R = k*G, r = R.x mod n, s = (z + r*d) / k mod n, for a one-time secret k, the key d
    and the digest z. Only z depends on the message. A pool keeps r, R's parity, a = 1/k and b = a*r*d for many k made in
    idle time; when z is known, s = a*z + b mod n, and the signature costs one multiplication. It is an ordinary
    recoverable, low-s signature that every verifier accepts; it differs from the deterministic one of RFC 6979.

What is given up
    **Every entry is as secret as the private key**: d = b / (a*r) mod n. **One entry used for two digests gives the key
    away** to all who see both signatures. These secrets stay in memory until used, and outlive their use there until the
    allocator reuses the memory: a core dump, swap or a debugger shows them.
    The arithmetic is Python's, whose time depends on the numbers, in a refill (1/k) more than in a signature. Whoever can
    measure it finely, such as another tenant of the same core, might learn about k, and from many partly known k the key.
    On one's own machine, for a session key that the owner can revoke and that cannot withdraw, that is a fair trade; on a
    shared host, or for a wallet's own key, it is not: sign without a pool.
    Out of scope: memory snapshots and restored or cloned virtual machines. Two machines that go on from one snapshot hold
    the same entries and give the key away. Do not snapshot a process that has a pool.

What is guaranteed
    An entry is used at most once: it is taken out of the pool by one atomic operation (also in free-threaded builds)
    before anything is computed from it, and lost if an exception comes between. After a fork the child's pool is empty, by
    `os.register_at_fork` and by a check of the process id on every take for forks that bypass Python. A pool belongs to
    the one `Signer` it was given to, and cannot be pickled, copied, iterated, indexed or printed.
    An empty pool neither blocks nor fails: the ordinary signature is made, and the miss counted.

How k is made
    Hedged, after draft-irtf-cfrg-det-sigs-with-noise (Hedged ECDSA and EdDSA Signatures): k depends on the private key, on
    fresh randomness Z and on something that does not repeat. In the draft that is the message; here no message exists yet,
    so that it is a counter with the process id and the time. One HMAC stands for the draft's HMAC-DRBG loop::

        k = 1 + HMAC-SHA512(d, label || Z || counter || pid || time_ns) mod (n - 1)        Z = 32 bytes of os.urandom

    A random source that repeats itself cannot repeat k, and whoever knows Z but not d knows nothing of k. 512 bits reduced
    modulo 256 bits leave no measurable bias (FIPS 186-5, A.3.1: at least 64 bits more than n are needed).
"""

from __future__ import annotations

import hmac
import os
import threading
import time
import weakref
from collections import deque
from itertools import count
from typing import Final

from derive_bench.adapter.errors import SigningError
from derive_bench.adapter.signing.forks import forget_in_child
from derive_bench.adapter.signing.libwally import ec_public_key_from_private_key
from derive_bench.adapter.signing.uncopyable import Uncopyable

__all__ = ["PresignPool"]

_N: Final = 0xFFFFFFFF_FFFFFFFF_FFFFFFFF_FFFFFFFE_BAAEDCE6_AF48A03B_BFD25E8C_D0364141
"""The order of secp256k1's group (SEC 2, 2.4.1)."""
_HALF_N: Final = _N // 2
_N_BYTES: Final = _N.to_bytes(32)

_LABEL: Final = b"derive_bench presigned k"
_EVEN_ODD: Final = ("1b", "1c")
_IDLE_SEC: Final = 0.01
_BATCH: Final = 64
_PACED_BATCH: Final = 16
"""How many entries share an inversion: enough to make its part small, few enough to be soon in the pool."""

_getpid = os.getpid
_from_bytes = int.from_bytes

_Entry = tuple[str, int, int, str, str]
"""``0x`` and r's digits, a, b, v's digits for a low s, and for an s that had to be negated."""


class PresignPool(Uncopyable):
    """A pool of up to `size` one-time entries, for ``Signer(key, presign=pool)``; read this module's terms first.

    It starts empty: fill it with `refill` in idle time, or have `start` keep it full from a thread.
    """

    __slots__ = (
        "__weakref__",
        "_added",
        "_capacity",
        "_counter",
        "_discarded",
        "_entries",
        "_lock",
        "_miss",
        "_miss_reads",
        "_pid",
        "_secret",
        "_stopping",
        "_take",
        "_thread",
    )

    def __init__(self, size: int) -> None:
        self._capacity = size
        self._secret: memoryview | None = None
        self._counter = count()
        self._added = self._discarded = 0
        self._miss = count().__next__
        self._miss_reads = 0
        self._renew()
        if type(size) is not int or size < 1:
            raise SigningError(f"presign pool: size {size!r} is not a positive integer")
        forget_in_child(self)

    def _renew(self) -> None:
        """Start with no entry, no thread and fresh locks in this process."""
        self._entries: deque[_Entry] = deque()
        self._take = self._entries.popleft
        # Reentrant, for signal handlers; never taken to sign.
        self._lock = threading.RLock()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._pid = _getpid()

    def _after_fork(self) -> None:
        # A refill that the fork interrupted goes on in both processes. It adds to the deque it began with, which nobody
        # takes from after this.
        inherited = self._entries
        self._renew()
        self._discarded += len(inherited)
        inherited.clear()

    # -- what a user asks -------------------------------------------------------------------------------------------

    @property
    def capacity(self) -> int:
        """The most entries that the pool holds."""
        return self._capacity

    @property
    def size(self) -> int:
        """How many entries are ready."""
        return len(self._entries) if _getpid() == self._pid else 0

    @property
    def hits(self) -> int:
        """How many entries were taken for signatures."""
        return self._added - self._discarded - len(self._entries)

    @property
    def misses(self) -> int:
        """How many signatures found the pool empty and were made the ordinary way."""
        # An atomic counter shows where it stands by being drawn from; those draws are subtracted.
        with self._lock:
            misses = self._miss() - self._miss_reads
            self._miss_reads += 1
        return misses

    def refill(self, n: int | None = None) -> int:
        """Make up to `n` entries (None: as many as there is room for) and return how many were added.

        An entry takes about as long as an ordinary signature (row ``signing/presign_entry``). Raises `SigningError` if
        the pool has no signer yet.
        """
        if n is not None and (type(n) is not int or n < 0):
            raise SigningError(f"presign pool: cannot refill {n!r} entries; give a number from 0 on, or None")
        self._key()
        if _getpid() != self._pid:
            self._after_fork()
        wanted = self._room() if n is None else min(n, self._room())
        added = 0
        while added < wanted:
            now_added = self._add(min(_BATCH, wanted - added))
            if now_added == 0:
                break  # another refill took the room, or this is the child of a fork that interrupted it
            added += now_added
        return added

    def start(self, pause_sec: float = 0.001) -> None:
        """Keep the pool full from a daemon thread, until `stop`, or until the pool is forgotten.

        The thread sleeps `pause_sec` after each curve point, some 40 µs of work, so that a hot thread never waits for
        much more, and makes about 1 / `pause_sec` entries a second. In a forked child, start it again.
        Raises `SigningError` if the pool has no signer yet.
        """
        self._key()
        if _getpid() != self._pid:
            self._after_fork()
        with self._lock:
            if self._thread is not None and self._thread.is_alive():
                return
            self._stopping = threading.Event()
            self._thread = threading.Thread(
                target=_keep_full,
                args=(weakref.ref(self), self._stopping, pause_sec),
                name="presign-refill",
                daemon=True,
            )
            self._thread.start()

    def stop(self) -> None:
        """End the thread of `start`, if there is one, and wait for it. The entries stay."""
        with self._lock:
            thread, self._thread = self._thread, None
            self._stopping.set()
        if thread is not None:
            thread.join()

    # -- what the signer asks ---------------------------------------------------------------------------------------

    def _bind(self, secret: memoryview) -> None:
        """Belong to the signer of this key, for good."""
        with self._lock:
            if self._secret is not None:
                raise SigningError("presign pool: it belongs to another signer already; make one pool for each Signer")
            self._secret = secret

    def _sign_hex(self, digest: bytes) -> str | None:
        """Return a signature over a 32-byte digest by the next entry, or None if the pool is empty."""
        if type(digest) is not bytes or len(digest) != 32:
            return None  # the ordinary path refuses it, or takes it as it is
        try:
            head, a, b, v_low, v_negated = self._take()
        except IndexError:
            self._miss()
            return None
        if _getpid() != self._pid:
            # A fork that Python did not see. Asked after the take, so that none can come between: the parent has this
            # entry, too.
            self._discarded += 1
            self._after_fork()
            self._miss()
            return None
        s = (a * _from_bytes(digest) + b) % _N
        if s > _HALF_N:
            return f"{head}{(_N - s).to_bytes(32).hex()}{v_negated}"
        if s == 0:
            return self._sign_hex(digest)
        return f"{head}{s.to_bytes(32).hex()}{v_low}"

    # -- what a refill does -----------------------------------------------------------------------------------------

    def _key(self) -> memoryview:
        if self._secret is None:
            raise SigningError("presign pool: it has no signer yet; give it to one, Signer(key, presign=pool)")
        return self._secret

    def _room(self) -> int:
        return self._capacity - len(self._entries)

    def _add(self, n: int, pause_sec: float = 0.0) -> int:
        """Make up to `n` entries, sleeping between points if told to, and return how many were added."""
        entries = self._entries
        made = self._make_entries(n, pause_sec)
        added = 0
        with self._lock:
            # If a signal handler forked meanwhile and this is the child, the parent has the same entries.
            if entries is self._entries and _getpid() == self._pid:
                added = min(n, self._room())
                self._added += added
                entries.extend(made[:added])
        return added

    def _make_entries(self, n: int, pause_sec: float) -> list[_Entry]:
        secret = self._key()
        points = []
        for _ in range(n):
            points.append(self._make_point(secret))
            if pause_sec:
                time.sleep(pause_sec)
        # One inversion for all, by Montgomery's trick: an inversion costs as much as the point, a product a fiftieth.
        before = [1]
        for k, _ in points:
            before.append(before[-1] * k % _N)
        inverse = pow(before.pop(), -1, _N)
        d = _from_bytes(secret)
        entries = []
        for k, point in reversed(points):
            a = inverse * before.pop() % _N
            inverse = inverse * k % _N
            b = a * _from_bytes(point[1:]) * d % _N
            parity = point[0] & 1
            entries.append((f"0x{point[1:].hex()}", a, b, _EVEN_ODD[parity], _EVEN_ODD[1 - parity]))
        return entries

    def _make_point(self, secret: memoryview) -> tuple[int, bytes]:
        """Return a fresh k and k*G, compressed."""
        while True:
            message = b"%b%b%b%b%b" % (
                _LABEL,
                os.urandom(32),
                next(self._counter).to_bytes(8),
                _getpid().to_bytes(8),
                time.time_ns().to_bytes(8),
            )
            k = 1 + _from_bytes(hmac.digest(secret, message, "sha512")) % (_N - 1)
            point = bytes(ec_public_key_from_private_key(k.to_bytes(32)))
            if point[1:] < _N_BYTES:
                return k, point
            # else r would be R.x - n, and v neither 27 nor 28: met once in 2^127

    # -- what nobody may do -----------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        return f"PresignPool(size={self.size}, capacity={self.capacity}, hits={self.hits}, misses={self.misses})"

    __iter__ = None
    __getitem__ = None


def _keep_full(reference: weakref.ref[PresignPool], stopping: threading.Event, pause_sec: float) -> None:
    while not stopping.is_set():
        pool = reference()
        if pool is None:
            return
        added = pool._add(min(_PACED_BATCH, pool._room()), pause_sec)
        del pool  # else the sleep would keep it alive
        if not added:
            time.sleep(_IDLE_SEC)
