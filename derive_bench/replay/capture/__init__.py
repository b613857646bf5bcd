"""Recording a live session: from a WebSocket to a tape, with nothing lost in between.

``link`` is the connection, which hands over each message as it arrives; ``recorder`` puts it on the tape and keeps the tape safe;
``driver`` runs a `ClientSession` over links and reconnects; ``instruments`` finds out what is recorded; ``tally`` counts. Needs the
library aiohttp.
"""
