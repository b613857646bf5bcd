"""The local venue: plays a session to live clients and answers them as Derive does.

Contract: everything but ``server`` and ``pump`` is without I/O and gets its time from a clock that is handed in. ``engine`` keeps
orders and trades them against the tape, ``rules`` refuses what the venue refuses and with its codes, ``accounts`` knows who may do
what, ``subscriptions`` who hears what, ``faults`` what goes wrong on the way; ``rpc`` turns a request's bytes into a reply's. ``server``
puts all of it on one port, WebSocket and HTTP.

Sources: PROTOCOL.md, and the venue's OpenAPI and AsyncAPI documents of August 2026 with its corrections.
"""
