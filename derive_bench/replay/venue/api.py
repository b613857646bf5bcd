"""The API: all methods of a venue, over WebSocket and both forms of HTTP."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Raw

from derive_bench.replay.venue.market_methods import market_methods
from derive_bench.replay.venue.order_methods import order_methods
from derive_bench.replay.venue.refusals import Refused
from derive_bench.replay.venue.rpc import Answer, Dispatcher, refusal_reply
from derive_bench.replay.venue.session_methods import control_methods, session_methods
from derive_bench.replay.venue.venue import Peer, Venue

__all__ = ["Api"]


class Api:
    """Answers requests to one venue.

    Attributes:
        dispatcher: for requests over a WebSocket.
    """

    def __init__(self, venue: Venue) -> None:
        self._venue = venue
        methods = market_methods(venue) | session_methods(venue) | order_methods(venue) | control_methods(venue)
        self.dispatcher = Dispatcher(venue, methods)

    def over_http(self, peer: Peer, method: str | None, body: bytes, headers: Mapping[str, str]) -> Answer:
        """Answer an HTTP request: a JSON-RPC one in `body`, or with `method` its bare params. Headers may log it in."""
        protocol = self._venue.protocol
        wallet = headers.get(protocol.header_wallet)
        if wallet is not None:
            timestamp, signature = headers.get(protocol.header_timestamp), headers.get(protocol.header_signature)
            rule = self._venue.faults.strike_headers(peer.number)
            if rule is not None:
                self._venue.faults.did(rule)
                return Answer(refusal_reply(Refused(rule.refusal or 14014, "Asked for by a fault rule")), rule)
            try:
                peer.account = self._venue.accounts.login(wallet, timestamp, signature)
            except Refused as refused:
                return Answer(refusal_reply(refused))
        if method is None:
            return self.dispatcher.answer(peer, body)
        return self.dispatcher.call(peer, method, Raw(body.strip() or b"{}"))
