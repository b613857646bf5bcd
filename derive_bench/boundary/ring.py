"""Shared memory: two byte rings that both processes have mapped, requests one way and replies the other.

Contract, shared with `engine/ring.rs`: each ring is a head of four u64 on cache lines of their own (bytes written, bytes read, the reader
waits, the writer waits), then the data. Who finds nothing to do spins, then says that it waits and sleeps on an eventfd; who makes
progress wakes the other if it said so. A sleep lasts `NAP_MS` at most, so that a wake-up lost to a reordered store costs only that.

The memory is a memfd: it has no name in any file system and goes with the last process that has it. Python has no atomic loads and
stores; one aligned 8-byte access through a memoryview is a single move, and the order of stores is kept by x86-64 alone, so other
machines are refused.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import platform
import select
from collections.abc import Sequence
from typing import Final, Self

from derive_bench.boundary.frames import Bytes
from derive_bench.boundary.streams import PeerGone, body_through

__all__ = ["CAPACITY", "Ring", "RingStream", "SharedMemory", "Unsupported"]

CAPACITY: Final = 1 << 18
"""Bytes a ring holds; a longer frame flows through it in pieces. It fits a core's second-level cache."""

LINE: Final = 8
"""Words in a cache line of 64 bytes."""
HEAD: Final = 4 * 8 * LINE
NAP_MS: Final = 50
_LOOKS_BETWEEN_YIELDS: Final = 32
"""So that two processes that spin on one processor get out of each other's way."""
_WRITTEN, _READ, _READER_WAITS, _WRITER_WAITS = (word * LINE for word in range(4))


class Unsupported(RuntimeError):
    """This machine cannot do it; the message says why."""


class Ring:
    """One direction, seen from one end.

    Args:
        memory: the ring's head and data.
        spins: looks before sleeping, about 0.1 µs each.
        filled, drained: eventfds that say that bytes were put in, and that bytes were taken out.
        lifeline: a descriptor that becomes readable or hung up when the other process is gone.
    """

    def __init__(self, memory: memoryview, spins: int, filled: int, drained: int, lifeline: int) -> None:
        self._words = memory[:HEAD].cast("Q")
        self._data = memory[HEAD:]
        self._capacity = len(self._data)
        self._spins = spins
        self._filled, self._drained, self._lifeline = filled, drained, lifeline

    def put(self, part: memoryview) -> None:
        """Write all of `part`. Raises `PeerGone`."""
        words, capacity = self._words, self._capacity
        while part:
            # Looked at once: a reader that makes progress in between would be waited for in vain.
            written, read = words[_WRITTEN], words[_READ]
            room = capacity - (written - read)
            if not room:
                self._wait(_READ, read, _WRITER_WAITS, self._drained)
                continue
            offset = written % capacity
            count = min(room, capacity - offset, len(part))
            self._data[offset : offset + count] = part[:count]
            words[_WRITTEN] = written + count
            if words[_READER_WAITS]:
                os.eventfd_write(self._filled, 1)
            part = part[count:]

    def take(self, into: memoryview) -> None:
        """Fill `into`. Raises `PeerGone`."""
        words, capacity = self._words, self._capacity
        while into:
            read = words[_READ]
            there = words[_WRITTEN] - read
            if not there:
                self._wait(_WRITTEN, read, _READER_WAITS, self._filled)
                continue
            offset = read % capacity
            count = min(there, capacity - offset, len(into))
            into[:count] = self._data[offset : offset + count]
            words[_READ] = read + count
            if words[_WRITER_WAITS]:
                os.eventfd_write(self._drained, 1)
            into = into[count:]

    def _wait(self, word: int, stale: int, flag: int, event: int) -> None:
        words = self._words
        for look in range(self._spins):
            if words[word] != stale:
                return
            if look % _LOOKS_BETWEEN_YIELDS == _LOOKS_BETWEEN_YIELDS - 1:
                os.sched_yield()
        poller = select.poll()
        poller.register(event, select.POLLIN)
        poller.register(self._lifeline, 0)
        while words[word] == stale:
            words[flag] = 1
            if words[word] == stale:
                for descriptor, _ in poller.poll(NAP_MS):
                    if descriptor == self._lifeline and words[word] == stale:
                        raise PeerGone("the other process has ended")
                    if descriptor == event:
                        with contextlib.suppress(BlockingIOError):
                            os.eventfd_read(event)
            words[flag] = 0

    def release(self) -> None:
        """Let go of the memory."""
        self._words.release()
        self._data.release()


class RingStream:
    """A stream over two rings."""

    def __init__(self, outgoing: Ring, incoming: Ring) -> None:
        self._outgoing, self._incoming = outgoing, incoming

    def send(self, parts: Sequence[Bytes]) -> None:
        """Write all parts into the outgoing ring."""
        for part in parts:
            self._outgoing.put(memoryview(part))

    def receive_body(self) -> memoryview:
        """See `Stream.receive_body`."""
        return body_through(self._incoming.take)

    def close(self) -> None:
        """Let go of the rings; the memory itself belongs to `SharedMemory`."""
        self._outgoing.release()
        self._incoming.release()


class SharedMemory:
    """The memory and eventfds of two rings.

    Attributes:
        descriptor: of the memory.
        events: requests filled, requests drained, replies filled, replies drained.
    """

    def __init__(self, descriptor: int, capacity: int, events: Sequence[int]) -> None:
        if platform.machine() not in ("x86_64", "AMD64"):
            raise Unsupported(f"shared memory needs x86-64's order of stores, and this is {platform.machine()}")
        self.descriptor, self.events, self.capacity = descriptor, tuple(events), capacity
        self._size = HEAD + capacity
        self._map = mmap.mmap(descriptor, 2 * self._size)

    @classmethod
    def create(cls, capacity: int = CAPACITY) -> Self:
        """Make new memory, all zero."""
        descriptor = os.memfd_create("derive_bench", os.MFD_CLOEXEC)
        os.ftruncate(descriptor, 2 * (HEAD + capacity))
        return cls(descriptor, capacity, [os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK) for _ in range(4)])

    def stream(self, *, serving: bool, spins: int, lifeline: int) -> RingStream:
        """Return the client's stream, or the server's."""
        whole = memoryview(self._map)
        filled, drained, replied, received = self.events
        requests = Ring(whole[: self._size], spins, filled, drained, lifeline)
        replies = Ring(whole[self._size :], spins, replied, received, lifeline)
        whole.release()
        return RingStream(replies, requests) if serving else RingStream(requests, replies)

    def close(self) -> None:
        """Unmap the memory and close all descriptors; the streams must be closed before."""
        self._map.close()
        for descriptor in (self.descriptor, *self.events):
            os.close(descriptor)
