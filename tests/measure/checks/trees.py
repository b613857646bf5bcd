"""Trees of other machines, as the checks read them: a file and its text, over a machine where everything is as it should be."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from derive_bench.measure.checks.finding import Finding
from derive_bench.measure.checks.plan import Plan
from derive_bench.measure.checks.system import System
from derive_bench.measure.checks.verdict import CHECKS

PINNED = Plan(cpus=(2,), pinned=True, fixed=True, hash_seed="0", warmups=1, warmup_pass=True)
"""As ``publish`` does it on the third CPU."""

CPU = "sys/devices/system/cpu"
CPU2 = f"{CPU}/cpu2"
GROUP = "sys/fs/cgroup"
STAT = "proc/stat"

GOOD: Mapping[str, str] = {
    f"{CPU2}/cpufreq/scaling_governor": "performance\n",
    f"{CPU2}/cpufreq/scaling_min_freq": "3000000\n",
    f"{CPU2}/cpufreq/scaling_max_freq": "3000000\n",
    f"{CPU}/intel_pstate/no_turbo": "1\n",
    f"{CPU}/online": "0-3\n",
    f"{CPU}/isolated": "2-3\n",
    f"{CPU2}/topology/thread_siblings_list": "2\n",
    f"{CPU2}/thermal_throttle/core_throttle_count": "0\n",
    f"{CPU2}/thermal_throttle/package_throttle_count": "0\n",
    "proc/cpuinfo": "processor\t: 0\nmodel name\t: A Fast One\nflags\t\t: fpu vme tsc\n",
    STAT: "cpu  1000 0 500 9000 10 0 5 0 0 0\ncpu0 1 2 3\n",
    "proc/self/personality": "00040000\n",
    "proc/sys/kernel/randomize_va_space": "2\n",
    "proc/loadavg": "0.10 0.20 0.30 1/100 4242\n",
    "proc/pressure/cpu": "some avg10=0.00 avg60=0.42 avg300=0.83 total=1434\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n",
    "proc/17/stat": "17 (a (quiet) one) S 1 17 17 0 -1 4194560 0 0 0 0 100 50 0 0 20 0 1 0 5 0 0\n",
    "proc/self/cgroup": "0::/user.slice/session\n",
    f"{GROUP}/cgroup.controllers": "cpuset cpu io memory pids\n",
    f"{GROUP}/cpu.stat": "usage_usec 4242\n",
    f"{GROUP}/user.slice/cpu.max": "max 100000\n",
    f"{GROUP}/user.slice/cpu.stat": "usage_usec 17\nnr_periods 10\nnr_throttled 0\nthrottled_usec 0\n",
    f"{GROUP}/user.slice/session/cpu.stat": "usage_usec 4\n",
    "proc/swaps": "Filename\tType\tSize\tUsed\tPriority\n",
    "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
    "sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc\n",
    "sys/devices/system/clocksource/clocksource0/available_clocksource": "tsc hpet acpi_pm\n",
    "sys/class/power_supply/AC/type": "Mains\n",
    "sys/class/power_supply/AC/online": "1\n",
    "sys/class/power_supply/BAT0/type": "Battery\n",
    "sys/class/power_supply/BAT0/status": "Full\n",
}


def plant(root: Path, files: Mapping[str, str | None]) -> System:
    """Write files under ``root``; None removes one that is there."""
    for name, text in files.items():
        path = root / name
        if text is None:
            path.unlink(missing_ok=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    return System(root)


def find(name: str, system: System, plan: Plan = PINNED) -> Finding:
    """What one check finds."""
    return next(check for check in CHECKS if check.name == name).find(system, plan)
