"""Memory: swap and transparent huge pages."""

from __future__ import annotations

import re

from derive_bench.measure.checks.finding import Check, Outcome, failed, passed, warned
from derive_bench.measure.checks.plan import Plan
from derive_bench.measure.checks.system import System, Unread, number

__all__ = ["CHECKS"]

SWAPS = "proc/swaps"
HUGE_PAGES = "sys/kernel/mm/transparent_hugepage/enabled"


def _swap(system: System, _: Plan) -> Outcome:
    heading, *lines = system.text(SWAPS).splitlines()
    if not heading.startswith("Filename"):
        raise Unread(f"/{SWAPS}: not a list of swap areas")
    used = 0
    for line in lines:
        fields = line.split()
        if len(fields) < 5:
            raise Unread(f"/{SWAPS}: {line.strip()[:40]!r} is not a swap area")
        # A file's name may hold blanks; type, size, used and priority follow it.
        used += number(fields[-2], f"/{SWAPS}")
    if not lines:
        return passed("none")
    value = f"{len(lines)} area{'s' if len(lines) > 1 else ''}, {used} KiB used"
    return failed(value) if used else warned(value)


def _huge_pages(system: System, _: Plan) -> Outcome:
    text = system.text(HUGE_PAGES)
    chosen = re.findall(r"\[(\w+)\]", text)
    if len(chosen) != 1 or chosen[0] not in ("always", "madvise", "never"):
        raise Unread(f"/{HUGE_PAGES}: {text[:40]!r} chooses nothing that is known")
    return failed("always") if chosen == ["always"] else passed(chosen[0])


CHECKS = (
    Check("swap", "a page that has to come back from disk costs more than every row together", "sudo swapoff -a", _swap),
    Check(
        "huge_pages",
        "always: the kernel merges and copies pages of a process while it is measured",
        f"echo madvise | sudo tee /{HUGE_PAGES}",
        _huge_pages,
    ),
)
