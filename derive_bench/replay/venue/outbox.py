"""The outbox: the frames due to one client, on their way to its socket, with the faults that strike them.

Contract: without I/O; :class:`Wire` is the socket's end. Frames leave in the order they came, but for a `reorder`; replies and
notifications share the one order. A frame is put into its WebSocket form once, however many clients it goes to. What a client has not
taken is bounded: one that falls further behind than `limit_bytes` is cut off, and nobody else notices.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final, Protocol

from derive_bench.replay.venue.faults import Faults, Rule, spoil

__all__ = ["Frame", "Outbox", "Wire"]

_TEXT: Final = 0x81
"""First byte of an unmasked, whole text frame (RFC 6455)."""
_LONE_SEC: Final = 1.0
"""How long a frame to be reordered waits for another one before it goes alone."""


class Frame:
    """A text message and its WebSocket frame, as any client gets it."""

    __slots__ = ("payload", "wire")

    def __init__(self, payload: bytes) -> None:
        self.payload = payload
        length = len(payload)
        if length < 126:
            head = bytes((_TEXT, length))
        elif length < 1 << 16:
            head = bytes((_TEXT, 126)) + length.to_bytes(2)
        else:
            head = bytes((_TEXT, 127)) + length.to_bytes(8)
        self.wire = head + payload


class Wire(Protocol):
    """The socket's end of an outbox."""

    def write(self, data: bytes) -> None:
        """Hand bytes to the socket, which keeps what it cannot send yet."""

    def waiting(self) -> int:
        """How many bytes the socket keeps."""

    def cut(self) -> None:
        """Cut the connection, without a closing handshake and without what waits."""

    def later(self, seconds: float, call: Callable[[], None]) -> None:
        """Call back after a time."""


class Outbox:
    """See the module's text. `client` is the connection's number.

    Attributes:
        due: notifications that were due.
        sent: notifications that went to the socket, spoilt ones and second copies included.
        slow: whether the client was cut off because it fell behind.
    """

    def __init__(self, wire: Wire, faults: Faults, client: int, limit_bytes: int) -> None:
        self._wire = wire
        self._faults = faults
        self._client = client
        self._limit = limit_bytes
        self._pending: list[bytes] = []
        self._size = 0
        self._stalled: deque[bytes | float] = deque()
        self._is_stalled = False
        self._held: tuple[Frame, Rule] | None = None
        self.due = 0
        self.sent = 0
        self.slow = False
        self.closed = False

    def notify(self, topic: str, frame: Frame) -> None:
        """A notification is due. It goes with the next :meth:`flush`."""
        if self.closed:
            return
        self.due += 1
        rule = self._faults.strike_frame(topic, self._client) if self._faults.frame_rules else None
        if rule is not None and self._struck(frame, rule):
            return
        self._send(frame.wire)
        self._release()

    def reply(self, payload: bytes) -> None:
        """A reply goes now, behind what is on its way already."""
        if not self.closed:
            self._put(Frame(payload).wire)
            self.flush()

    def flush(self) -> None:
        """Hand what has gathered to the socket."""
        if self._pending and not self.closed:
            data = self._pending[0] if len(self._pending) == 1 else b"".join(self._pending)
            self._pending.clear()
            self._size -= len(data)
            self._wire.write(data)

    def close(self) -> None:
        """The connection has gone."""
        self.closed = True
        self._pending.clear()
        self._stalled.clear()
        self._held = None

    @property
    def behind(self) -> int:
        """How many bytes the client has yet to take."""
        return self._size + self._wire.waiting()

    def _struck(self, frame: Frame, rule: Rule) -> bool:
        """Do the fault; whether the frame itself is dealt with by that."""
        kind = rule.kind
        if kind == "reorder":
            if self._held is not None:
                return False
            self._held = (frame, rule)
            self._wire.later(_LONE_SEC, lambda: self._go_alone(frame))
            return True
        self._faults.did(rule)
        if kind == "cut":
            self.flush()
            self.cut()
        elif kind == "malformed":
            self._send(Frame(spoil(frame.payload)).wire)
            self._release()
        elif kind == "duplicate":
            self._send(frame.wire)
        elif kind == "delay":
            self._stall(rule.ms / 1000)
        return kind in ("cut", "malformed", "drop")

    def _send(self, wire: bytes) -> None:
        self.sent += 1
        self._put(wire)

    def _release(self) -> None:
        if self._held is not None:
            frame, rule = self._held
            self._held = None
            self._faults.did(rule)
            self._send(frame.wire)

    def _go_alone(self, frame: Frame) -> None:
        if self._held is not None and self._held[0] is frame:
            self._held = None
            self._send(frame.wire)
            self.flush()

    def _put(self, wire: bytes) -> None:
        self._size += len(wire)
        if self.behind > self._limit:
            self.cut_slow()
        elif self._is_stalled:
            self._stalled.append(wire)
        else:
            self._pending.append(wire)

    def _stall(self, seconds: float) -> None:
        if self._is_stalled:
            self._stalled.append(seconds)
            return
        self._is_stalled = True
        self._wire.later(seconds, self._resume)

    def _resume(self) -> None:
        while self._stalled:
            item = self._stalled.popleft()
            if isinstance(item, float):
                self._wire.later(item, self._resume)
                break
            self._pending.append(item)
        else:
            self._is_stalled = False
        self.flush()

    def cut_slow(self) -> None:
        """Cut the client off, because it does not keep up."""
        self.slow = True
        self.cut()

    def cut(self) -> None:
        """Cut the client off."""
        if not self.closed:
            self.close()
            self._wire.cut()
