"""The hot path of a Derive adapter: frames to domain types, commands to signed wire bytes, private payloads to events.

Contract: no I/O, no knowledge of benchmarks, no import from the rest of the package.
"""
