"""Faults: what goes wrong on the way between venue and client, on request, and how often it did, exactly.

Contract: a :class:`Rule` says what is done (`kind`), to which frames or requests, and how often. Rules are asked in the order they
were made, and the first that strikes decides. Without `share`, a rule strikes deterministically, every `every`-th of what it matches;
with it, by a generator seeded when the rules were made. A count is raised when the fault is done to a frame or a request, so that
what clients saw can be reckoned from it: of F frames that a client was due, it got F - drop + duplicate, `malformed` of them spoilt.

===============  =================================================================================================
kind             what is done
===============  =================================================================================================
drop             the frame is not sent
duplicate        it is sent twice
delay            it and all behind it wait `ms`
reorder          it is sent after the next one due to that client (counted when the two have changed places)
malformed        its first half is sent in its place
cut              the connection is cut in its place, without a closing handshake
refuse_login     the login, by request or by an HTTP request's headers, is refused: 14014, or `code`
rate_limit       it is refused: -32000
error            it is refused with `code`
no_reply         it is done, and not answered
late_reply       it is answered after `ms`
cut_reply        it is done, and the connection cut in place of the answer
===============  =================================================================================================

The first six are of frames, matched by `channel`; the others of requests, matched by `method`. Both are patterns of :mod:`fnmatch`.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Annotated, Final, Literal

import msgspec

__all__ = ["FRAME_KINDS", "REQUEST_KINDS", "BadRule", "Faults", "Rule", "make_rule", "parse_rule", "spoil"]

FRAME_KINDS: Final = ("drop", "duplicate", "delay", "reorder", "malformed", "cut")
REQUEST_KINDS: Final = ("refuse_login", "rate_limit", "error", "no_reply", "late_reply", "cut_reply")
_LOGIN: Final = "public/login"


class BadRule(Exception):
    """A rule that cannot be; the message says why."""


class Rule(msgspec.Struct, forbid_unknown_fields=True):
    """One fault: see the module's text.

    Attributes:
        every: strikes each so-manieth match, the first time at the `every`-th.
        share: strikes with this probability in place of `every`.
        times: strikes so often at most.
        channel, method: what it matches.
        client: only this connection, by its number in `venue/status`.
        ms: for delays.
        code: for refusals.
    """

    kind: Literal[
        "drop",
        "duplicate",
        "delay",
        "reorder",
        "malformed",
        "cut",
        "refuse_login",
        "rate_limit",
        "error",
        "no_reply",
        "late_reply",
        "cut_reply",
    ]
    every: Annotated[int, msgspec.Meta(ge=1)] = 1
    share: Annotated[float, msgspec.Meta(ge=0, le=1)] | None = None
    times: Annotated[int, msgspec.Meta(ge=1)] | None = None
    channel: str = "*"
    method: str = "*"
    client: int | None = None
    ms: Annotated[int, msgspec.Meta(ge=0, le=3_600_000)] = 100
    code: int | None = None
    id: int = 0
    matched: int = 0
    done: int = 0

    def __post_init__(self) -> None:
        if self.kind == "error" and self.code is None:
            raise BadRule("error: give the code to answer with, such as code=9000")

    @property
    def refusal(self) -> int | None:
        """The code that a struck request is refused with, None where the fault is another."""
        if self.kind == "refuse_login":
            return self.code or 14014
        return -32000 if self.kind == "rate_limit" else self.code if self.kind == "error" else None


class Faults:
    """The rules in force, and the counts of all there ever were."""

    def __init__(self, rules: Sequence[Rule] = (), seed: int = 0) -> None:
        self._random = random.Random(seed)  # noqa: S311 -- faults, not secrets
        self._ids = 0
        self.rules: list[Rule] = []
        self.frame_rules: list[Rule] = []
        self.request_rules: list[Rule] = []
        self.counts: Counter[str] = Counter()
        for rule in rules:
            self.add(rule)

    def add(self, rule: Rule) -> Rule:
        """Put a rule in force."""
        self._ids += 1
        rule.id, rule.matched, rule.done = self._ids, 0, 0
        self.rules.append(rule)
        self._sort()
        return rule

    def remove(self, rule_id: int | None) -> int:
        """Take a rule out of force, all where None: how many those were. Counts stay."""
        before = len(self.rules)
        self.rules = [rule for rule in self.rules if rule_id is not None and rule.id != rule_id]
        self._sort()
        return before - len(self.rules)

    def strike_frame(self, topic: str, client: int) -> Rule | None:
        """The rule that strikes a frame due to a client. Whoever does it says so with :meth:`did`."""
        for rule in self.frame_rules:
            if fnmatchcase(topic, rule.channel) and self._strikes(rule, client):
                return rule
        return None

    def strike_headers(self, client: int) -> Rule | None:
        """The rule that strikes the login of an HTTP request's headers, always one that refuses."""
        refusing = (rule for rule in self.request_rules if rule.kind == "refuse_login")
        return next((rule for rule in refusing if self._strikes(rule, client)), None)

    def strike_request(self, method: str, client: int) -> Rule | None:
        """The rule that strikes a request."""
        for rule in self.request_rules:
            login_only = rule.kind == "refuse_login" and method != _LOGIN
            if not login_only and fnmatchcase(method, rule.method) and self._strikes(rule, client):
                return rule
        return None

    def did(self, rule: Rule) -> None:
        """The fault has been done."""
        rule.done += 1
        self.counts[rule.kind] += 1

    def _strikes(self, rule: Rule, client: int) -> bool:
        if rule.client not in (None, client) or (rule.times is not None and rule.done >= rule.times):
            return False
        rule.matched += 1
        return self._random.random() < rule.share if rule.share is not None else rule.matched % rule.every == 0

    def _sort(self) -> None:
        self.frame_rules = [rule for rule in self.rules if rule.kind in FRAME_KINDS]
        self.request_rules = [rule for rule in self.rules if rule.kind in REQUEST_KINDS]


def parse_rule(text: str) -> Rule:
    """A rule from a flag: ``drop,every=10,channel=orderbook.*``. Raises `BadRule`."""
    kind, *settings = text.split(",")
    fields: dict[str, str] = {"kind": kind.strip()}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals:
            raise BadRule(f"{setting!r} in {text!r}: give name=value")
        fields[name.strip()] = value.strip()
    return make_rule(fields, strict=False)


def make_rule(fields: object, *, strict: bool = True) -> Rule:
    """A rule from its fields. Raises `BadRule`."""
    try:
        return msgspec.convert(fields, Rule, strict=strict)
    except msgspec.ValidationError as error:
        raise BadRule(str(error)) from None


def spoil(frame: bytes) -> bytes:
    """The first half of a frame, cut between characters: UTF-8, but no JSON."""
    return frame[: max(1, len(frame) // 2)].decode("utf-8", "ignore").encode() or b"{"
