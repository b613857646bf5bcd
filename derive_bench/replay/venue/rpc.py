"""JSON-RPC: from a request's bytes to its reply's.

Contract: whatever the bytes are, there is an answer: a result, or an error with the venue's code (−32700 no JSON, −32600 no request,
−32601 no such method, −32602 wrong params, else what the method raises). The `id` comes back as it came, null where there was none to
read. A fault of this program is answered with −32603 and logged.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

import msgspec
from msgspec import Raw

from derive_bench.adapter.errors import DecodeError
from derive_bench.adapter.lenient import FAULTS, LONG, check_nesting
from derive_bench.replay.venue.faults import Rule
from derive_bench.replay.venue.params import decode_params
from derive_bench.replay.venue.refusals import Refused
from derive_bench.replay.venue.venue import Peer, Venue

__all__ = ["Answer", "Dispatcher", "Method", "refusal_reply"]

_P = TypeVar("_P")
_log: Final = logging.getLogger(__name__)
_NULL: Final = Raw(b"null")
_encode: Final = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class Method(Generic[_P]):
    """One method: its params' type and what it does with them.

    Attributes:
        private: needs a login.
        socket_only: needs a WebSocket.
        local_only: for those on this machine.
    """

    params: type[_P]
    run: Callable[[Peer, _P], Any]
    private: bool = False
    socket_only: bool = False
    local_only: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """A reply, and the fault that strikes it, if one does."""

    payload: bytes
    rule: Rule | None = None


class _Request(msgspec.Struct):
    method: str
    id: Raw = Raw()
    params: Raw = Raw()


class _Id(msgspec.Struct):
    id: Raw = Raw()


_request: Final = msgspec.json.Decoder(_Request).decode
_id: Final = msgspec.json.Decoder(_Id).decode
_scalar: Final = msgspec.json.Decoder(str | int | float | None).decode


class Dispatcher:
    """Answers requests to one venue with its methods, by name."""

    def __init__(self, venue: Venue, methods: Mapping[str, Method[Any]]) -> None:
        self._venue = venue
        self._methods = methods

    def answer(self, peer: Peer, data: bytes) -> Answer:
        """Answer a JSON-RPC request."""
        try:
            if len(data) > LONG:
                check_nesting(data)
            request = _request(data)
        except (*FAULTS, DecodeError) as error:
            return Answer(_error(*_unreadable(data, error)))
        if request.id and not _is_scalar(request.id):
            return Answer(_error(_NULL, Refused(-32600, "An id is a string, a number or null")))
        return self.call(peer, request.method, request.params, request.id or _NULL)

    def call(self, peer: Peer, name: str, params: Raw, request_id: Raw | None = None) -> Answer:
        """Answer a call of a method; without an id the reply gets a fresh one, as on the venue's REST paths."""
        reply_to = Raw(_encode(str(uuid.uuid4()))) if request_id is None else request_id
        faults = self._venue.faults
        rule = faults.strike_request(name, peer.number) if faults.request_rules and not name.startswith("venue/") else None
        if rule is not None:
            faults.did(rule)
            if rule.refusal is not None:
                return Answer(_error(reply_to, Refused(rule.refusal, "Asked for by a fault rule")), rule)
        try:
            result = self._run(peer, name, params)
        except Refused as refused:
            return Answer(_error(reply_to, refused), rule)
        except DecodeError as error:
            return Answer(_error(reply_to, Refused(-32602, str(error))), rule)
        except Exception:
            _log.exception("%s failed", name)
            return Answer(_error(reply_to, Refused(-32603)), rule)
        return Answer(_encode({"id": reply_to, "result": result}), rule)

    def _run(self, peer: Peer, name: str, params: Raw) -> Any:
        method = self._methods.get(name)
        if method is None:
            raise Refused(-32601, f"{name[:80]} is not a method of this venue")
        if method.local_only and not peer.is_local:
            raise Refused(-32601, f"{name} is for clients on the venue's own machine")
        if method.socket_only and peer.outbox is None:
            raise Refused(-32601, f"{name} needs a WebSocket")
        if method.private and peer.account is None:
            raise Refused(14021, "Log in first: public/login on a WebSocket, headers on HTTP")
        return method.run(peer, decode_params(method.params, params))


def refusal_reply(refused: Refused) -> bytes:
    """The reply to a request that was refused before it was read."""
    return _error(_NULL, refused)


def _unreadable(data: bytes, error: Exception) -> tuple[Raw, Refused]:
    if isinstance(error, msgspec.ValidationError):
        try:
            reply_to = _id(data).id
        except FAULTS:
            return _NULL, Refused(-32600, "A request is a JSON object with id, method and params")
        readable = reply_to and _is_scalar(reply_to)
        return (reply_to if readable else _NULL), Refused(-32600, str(error))
    return _NULL, Refused(-32700, str(error))


def _is_scalar(raw: Raw) -> bool:
    try:
        _scalar(raw)
    except FAULTS:
        return False
    return True


def _error(request_id: Raw, refused: Refused) -> bytes:
    return _encode({"id": request_id, "error": refused.document()})
