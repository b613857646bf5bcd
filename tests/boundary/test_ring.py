"""Rings of shared memory: whatever the sizes of messages, they come out as they went in, and who waits is woken or told."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from derive_bench.boundary.ring import Ring, RingStream, SharedMemory
from derive_bench.boundary.streams import PeerGone

CAPACITY = 64


class Pair:
    """Both ends of rings of a few bytes, in one process; each end has a lifeline that the other holds."""

    def __init__(self, spins: int) -> None:
        self.memory = SharedMemory.create(CAPACITY)
        self._pipes = [os.pipe(), os.pipe()]
        self.client, self.server = (
            self.memory.stream(serving=serving, spins=spins, lifeline=pipe[0])
            for serving, pipe in zip((False, True), self._pipes, strict=True)
        )
        self._open = {end for pipe in self._pipes for end in pipe}

    def end_server(self) -> None:
        """What the kernel does when the server dies: the client's lifeline hangs up."""
        self._close(self._pipes[0][1])

    def end_client(self) -> None:
        self._close(self._pipes[1][1])

    def _close(self, descriptor: int) -> None:
        os.close(descriptor)
        self._open.remove(descriptor)

    def close(self) -> None:
        self.client.close()
        self.server.close()
        self.memory.close()
        for descriptor in list(self._open):
            self._close(descriptor)


@pytest.fixture(scope="module", params=[0, 200], ids=["sleeping", "spinning"])
def pair(request: pytest.FixtureRequest) -> Iterator[Pair]:
    made = Pair(request.param)
    yield made
    made.close()


def outgoing(stream: RingStream) -> Ring:
    return stream._outgoing


def incoming(stream: RingStream) -> Ring:
    return stream._incoming


SIZES = st.one_of(
    st.integers(0, 10), st.sampled_from([CAPACITY - 1, CAPACITY, CAPACITY + 1, 2 * CAPACITY, 5 * CAPACITY + 3]), st.integers(0, 300)
)


@settings(max_examples=60)
@given(st.lists(SIZES, max_size=12), st.integers(1, 2 * CAPACITY))
def test_what_goes_in_comes_out(pair: Pair, sizes: list[int], piece: int) -> None:
    messages = [bytes((7 * number + at) % 256 for at in range(size)) for number, size in enumerate(sizes)]
    data, found = b"".join(messages), bytearray(sum(sizes))
    writer = threading.Thread(target=lambda: pair.client.send(messages))
    writer.start()
    view = memoryview(found)
    for at in range(0, len(found), piece):
        incoming(pair.server).take(view[at : at + piece])
    writer.join(10)
    assert not writer.is_alive()
    assert bytes(found) == data


@settings(max_examples=60)
@given(st.lists(st.tuples(st.booleans(), st.integers(0, CAPACITY)), max_size=40))
def test_a_ring_is_a_queue_of_bytes(pair: Pair, steps: list[tuple[bool, int]]) -> None:
    ring, other, queue, number = outgoing(pair.server), incoming(pair.client), bytearray(), 0
    for puts, size in steps:
        if puts:
            part = bytes((number + at) % 256 for at in range(min(size, CAPACITY - len(queue))))
            ring.put(memoryview(part))
            queue += part
            number += len(part)
        else:
            found = bytearray(min(size, len(queue)))
            other.take(memoryview(found))
            assert found == queue[: len(found)]
            del queue[: len(found)]
    rest = bytearray(len(queue))
    other.take(memoryview(rest))
    assert rest == queue


@pytest.mark.parametrize("spins", [0, 200])
@pytest.mark.parametrize("sent", [0, 1, 3, 4, 9])
def test_a_writer_that_dies_in_a_message_is_noticed(spins: int, sent: int) -> None:
    pair = Pair(spins)
    message = b"\x08\0\0\0\x00answer!"
    pair.server.send([message[:sent]])
    pair.end_server()
    with pytest.raises(PeerGone):
        pair.client.receive_body()
    pair.close()


def test_what_was_written_before_the_end_is_still_read() -> None:
    pair = Pair(0)
    pair.server.send([b"\x08\0\0\0\x00answer!"])
    pair.end_server()
    assert bytes(pair.client.receive_body()) == b"\x00answer!"
    pair.close()


@pytest.mark.parametrize("size", [CAPACITY + 1, 10 * CAPACITY])
def test_a_reader_that_dies_is_noticed_when_the_ring_is_full(size: int) -> None:
    pair = Pair(0)
    pair.end_server()
    with pytest.raises(PeerGone):
        pair.client.send([bytes(size)])
    pair.close()


def test_progress_between_two_looks_is_not_waited_for() -> None:
    pair = Pair(0)
    ring = outgoing(pair.client)
    pair.client.send([bytes(CAPACITY)])

    class Words:
        """The ring's head, whose reader takes everything right after the writer has looked at what was read."""

        def __init__(self, words: memoryview) -> None:
            self._words, self._looks = words, 0

        def __getitem__(self, word: int) -> int:
            found = int(self._words[word])
            self._looks += 1
            if self._looks == 2:
                incoming(pair.server).take(memoryview(bytearray(CAPACITY)))
            return found

        def __setitem__(self, word: int, value: int) -> None:
            self._words[word] = value

        def release(self) -> None:
            self._words.release()

    ring._words = Words(ring._words)  # type: ignore[assignment]
    writer = threading.Thread(target=lambda: ring.put(memoryview(b"x")), daemon=True)
    writer.start()
    writer.join(5)
    assert not writer.is_alive()
    pair.close()
