"""Tails: the pipeline rows call by call, with the cyclic collector on, off and frozen, their memory, and the first calls after a pause.

:mod:`worker` measures one row in one process, :mod:`session` runs the processes, :mod:`figures` makes percentiles of what they say
and :mod:`document` the JSON file, whose layout is described in ``docs/tail.md``.
"""
