"""Checks: whether this machine and this interpreter can give numbers worth keeping.

``verdict`` is what other modules use: it runs every check of the modules ``cpu``, ``machine``, ``aslr``, ``load``, ``cgroup``,
``memory``, ``timers``, ``power``, ``interpreter`` and ``libraries``. Each of them reads files of a :class:`system.System`, whose root
tests replace, in the light of a :class:`plan.Plan`, which says how the run is to be made.
"""
