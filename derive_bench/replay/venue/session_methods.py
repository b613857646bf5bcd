"""Methods of a connection: logging in, subscribing, and what the control methods do.

Contract: :func:`session_methods` are the venue's own, :func:`control_methods` this one's, ``venue/…``: the tape, fills, faults and keys
at run time, for clients on the same machine only.
"""

from __future__ import annotations

from typing import Any

import msgspec

from derive_bench.adapter.channels import ChannelKind, parse_channel
from derive_bench.adapter.lenient import NumberText
from derive_bench.replay.venue import faults as fault_rules
from derive_bench.replay.venue.accounts import is_address
from derive_bench.replay.venue.params import ChannelsParams, LoginParams, SwitchParams
from derive_bench.replay.venue.refusals import Refused
from derive_bench.replay.venue.rpc import Method
from derive_bench.replay.venue.subscriptions import ALREADY, OK, PRIVATE, refusal, refuse_if_none
from derive_bench.replay.venue.units import to_units
from derive_bench.replay.venue.venue import Peer, Venue
from derive_bench.replay.venue.views import fill_view

__all__ = ["control_methods", "session_methods"]


class _Nothing(msgspec.Struct):
    pass


class _FillParams(msgspec.Struct):
    order_id: str
    amount: NumberText | None = None
    price: NumberText | None = None


class _RuleParams(msgspec.Struct):
    id: int | None = None


class _CutParams(msgspec.Struct):
    client: int | None = None


class _KeyParams(msgspec.Struct):
    key: str
    wallet: str | None = None


def session_methods(venue: Venue) -> dict[str, Method[Any]]:
    """`public/login`, `subscribe`, `unsubscribe`, `private/set_cancel_on_disconnect`."""

    def login(peer: Peer, params: LoginParams) -> list[int]:
        if peer.outbox is None and peer.account is not None and params.wallet is None:
            return peer.account.subaccounts
        peer.account = venue.accounts.login(params.wallet, params.timestamp, params.signature)
        for topic in venue.subscribers.topics_of(peer):
            channel = parse_channel(topic)
            if channel.kind in PRIVATE and channel.subaccount not in peer.account.subaccounts:
                venue.subscribers.remove(peer, topic)
        return peer.account.subaccounts

    def subscribe(peer: Peer, params: ChannelsParams) -> dict[str, Any]:
        if params.channels is None:
            raise Refused(-32602, "Object missing required field `channels` - at `$.params`")
        if not params.channels:
            raise Refused(13000, "No channels")
        status: dict[str, str] = {}
        good = []
        for topic in dict.fromkeys(params.channels):
            channel = parse_channel(topic)
            newer = channel.kind is ChannelKind.OTHER and topic in venue.topics
            wrong = None if newer else refusal(channel, venue.protocol.dialect, venue.instruments, peer.account)
            if wrong is not None:
                status[topic] = wrong
                continue
            status[topic] = ALREADY if topic in venue.subscribers.topics_of(peer) else OK
            good.append(topic)
        refuse_if_none(status)
        for topic in good:
            venue.subscribers.add(peer, topic)
        venue.subscribed()
        return {"status": status, "current_subscriptions": venue.subscribers.topics_of(peer)}

    def unsubscribe(peer: Peer, params: ChannelsParams) -> dict[str, Any]:
        topics = venue.subscribers.topics_of(peer) if params.channels is None else dict.fromkeys(params.channels)
        status = {topic: OK if venue.subscribers.remove(peer, topic) else "not subscribed" for topic in topics}
        venue.subscribed()
        return {"status": status, "remaining_subscriptions": venue.subscribers.topics_of(peer)}

    def cancel_on_disconnect(peer: Peer, params: SwitchParams) -> str:
        if peer.account is not None and params.enabled is not None:
            peer.account.cancel_on_disconnect = params.enabled
        return "ok"

    return {
        "public/login": Method(LoginParams, login),
        "subscribe": Method(ChannelsParams, subscribe, socket_only=True),
        "unsubscribe": Method(ChannelsParams, unsubscribe, socket_only=True),
        "private/set_cancel_on_disconnect": Method(SwitchParams, cancel_on_disconnect, private=True),
    }


def control_methods(venue: Venue) -> dict[str, Method[Any]]:
    """``venue/…``: see docs/serve.md."""

    def status(_peer: Peer, _params: _Nothing) -> dict[str, Any]:
        clients = [_client(peer, venue) for peer in venue.peers.values()]
        state = {"protocol": venue.protocol.name, "tape": venue.control.state(), "clients": clients}
        return state | {"slow_clients_cut": venue.slow_cut, "faults": dict(venue.faults.counts)}

    def start(_peer: Peer, _params: _Nothing) -> dict[str, Any]:
        venue.control.start()
        return venue.control.state()

    def pause(_peer: Peer, _params: _Nothing) -> dict[str, Any]:
        venue.control.pause()
        return venue.control.state()

    def fill(_peer: Peer, params: _FillParams) -> dict[str, Any]:
        amount = None if params.amount is None else to_units(params.amount, "$.params.amount")
        price = None if params.price is None else to_units(params.price, "$.params.price")
        return fill_view(venue.engine.fill(params.order_id, amount, price), venue.protocol)

    def inject(_peer: Peer, params: dict[str, Any]) -> dict[str, Any]:
        try:
            return _rule_view(venue.faults.add(fault_rules.make_rule(params)))
        except fault_rules.BadRule as error:
            raise Refused(-32602, str(error)) from None

    def clear(_peer: Peer, params: _RuleParams) -> dict[str, int]:
        return {"removed": venue.faults.remove(params.id)}

    def faults(_peer: Peer, _params: _Nothing) -> dict[str, Any]:
        counts = {kind: venue.faults.counts[kind] for kind in (*fault_rules.FRAME_KINDS, *fault_rules.REQUEST_KINDS)}
        return {"rules": [_rule_view(rule) for rule in venue.faults.rules], "counts": counts}

    def cut(peer: Peer, params: _CutParams) -> dict[str, int]:
        chosen = [each for each in venue.peers.values() if each is not peer and params.client in (None, each.number)]
        for each in chosen:
            if each.outbox is not None:
                each.outbox.cut()
                venue.faults.counts["cut"] += 1
        return {"cut": len(chosen)}

    def register(_peer: Peer, params: _KeyParams) -> str:
        for address in filter(None, (params.key, params.wallet)):
            if not is_address(address):
                raise Refused(-32602, f"{address[:64]!r} is no address")
        venue.accounts.register(params.key, params.wallet)
        return "ok"

    return {
        "venue/status": Method(_Nothing, status, local_only=True),
        "venue/start": Method(_Nothing, start, local_only=True),
        "venue/pause": Method(_Nothing, pause, local_only=True),
        "venue/fill": Method(_FillParams, fill, local_only=True),
        "venue/inject": Method(dict, inject, local_only=True),
        "venue/clear": Method(_RuleParams, clear, local_only=True),
        "venue/faults": Method(_Nothing, faults, local_only=True),
        "venue/cut": Method(_CutParams, cut, local_only=True),
        "venue/register_key": Method(_KeyParams, register, local_only=True),
    }


def _client(peer: Peer, venue: Venue) -> dict[str, Any]:
    box = peer.outbox
    view: dict[str, Any] = {"client": peer.number, "wallet": None if peer.account is None else peer.account.wallet}
    if box is not None:
        view |= {"due": box.due, "sent": box.sent, "behind_bytes": box.behind}
    return view | {"channels": len(venue.subscribers.topics_of(peer))}


def _rule_view(rule: fault_rules.Rule) -> dict[str, Any]:
    return {name: value for name, value in msgspec.structs.asdict(rule).items() if value is not None}
