"""Made-up sessions: seeded, of any length and mix, the same bytes wherever they are made.

`Plan` says what a session is like, `synthesise` makes its header and records, `Statistics` measures any session's.
"""

from derive_bench.replay.synth.faults import FAULT_KINDS, FaultsLeft
from derive_bench.replay.synth.plan import Plan, PlanRefused
from derive_bench.replay.synth.session import synthesise
from derive_bench.replay.synth.statistics import Statistics

__all__ = ["FAULT_KINDS", "FaultsLeft", "Plan", "PlanRefused", "Statistics", "synthesise"]
