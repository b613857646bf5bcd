"""Every reader of the system's files: a tree where it passes, trees where it does not, and none."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from derive_bench.measure.checks import load
from derive_bench.measure.checks.finding import State
from derive_bench.measure.checks.plan import Plan
from derive_bench.measure.checks.system import System
from derive_bench.measure.checks.verdict import CHECKS, NAMES
from tests.measure.checks.trees import CPU, CPU2, GOOD, GROUP, PINNED, STAT, find, plant

OF_THE_PROCESS = {"timer", "python_debug", "python_pgo", "python_lto", "python_threads", "python_jit", "hash_seed", "warm_up"}
OF_THE_PROCESS |= {"msgspec", "orjson", "coincurve", "wallycore", "tiny_keccak", "uuid_utils"}
OF_FILES = [name for name in NAMES if name not in OF_THE_PROCESS]

FOUR = Plan(cpus=(0, 1, 2, 3))
BOTH = Plan(cpus=(1, 2), pinned=True, fixed=True)
SUPPLY = "sys/class/power_supply"
CLOCK = "sys/devices/system/clocksource/clocksource0"
V1 = {"proc/self/cgroup": "5:memory:/m\n4:cpu,cpuacct:/docker/abc\n0::/\n"}
V1_CPU = f"{GROUP}/cpu,cpuacct"


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load, "sleep", lambda seconds: None)


@pytest.mark.parametrize("name", OF_FILES)
def test_as_it_should_be(name: str, tmp_path: Path) -> None:
    found = find(name, plant(tmp_path, GOOD))
    assert (found.state, found.mend) == (State.PASS, ""), found


@pytest.mark.parametrize("name", OF_FILES)
def test_nothing_there_is_unknown(name: str, tmp_path: Path) -> None:
    found = find(name, System(tmp_path), Plan(cpus=(2,)))
    if name == "affinity":
        found = find(name, System(tmp_path))
    assert found.state is State.UNKNOWN, found
    assert "No such file" in found.value or "not mounted" in found.value
    assert found.mend


FAILING: list[tuple[str, Mapping[str, str | None], str, str]] = [
    ("governor", {f"{CPU2}/cpufreq/scaling_governor": "powersave\n"}, "powersave on CPU 2", f"echo performance | sudo tee /{CPU2}/cpufreq"),
    ("turbo", {f"{CPU}/intel_pstate/no_turbo": "0\n"}, "on for CPU 2", f"echo 1 | sudo tee /{CPU}/intel_pstate/no_turbo"),
    ("frequency", {f"{CPU2}/cpufreq/scaling_min_freq": "800000\n"}, "800–3000 MHz", f"echo 3000000 | sudo tee /{CPU2}/cpufreq/scaling_min"),
    ("smt", {f"{CPU2}/topology/thread_siblings_list": "2,6\n"}, "CPU 2 shares a core with 6", f"echo 0 | sudo tee /{CPU}/cpu6/online"),
    ("smt", {f"{CPU2}/topology/thread_siblings_list": "1-2\n"}, "CPU 2 shares a core with 1", f"echo 0 | sudo tee /{CPU}/cpu1/online"),
    ("affinity", {f"{CPU}/online": "0-1\n"}, "CPU 2 is not online", "--affinity"),
    ("isolated", {f"{CPU}/isolated": "0-1,3\n"}, "CPU 0-1,3 is isolated, workers run on 2", "--affinity 3"),
    ("hypervisor", {"proc/cpuinfo": "flags\t: fpu hypervisor tsc\n"}, "hypervisor flag", "derive_bench count"),
    ("hypervisor", {"sys/hypervisor/type": "xen\n"}, "xen", "derive_bench count"),
    ("hypervisor", {"proc/cpuinfo": "Features: fp\n", "sys/class/dmi/id/sys_vendor": "QEMU\n"}, "QEMU", "derive_bench count"),
    ("steal", {STAT: "cpu  1000 0 500 9000 10 0 5 400 0 0\n"}, "3.66% since boot", "derive_bench count"),
    ("aslr", {"proc/self/personality": "00000000\n"}, "Full randomization", "setarch -R"),
    ("load", {"proc/loadavg": "1.00 0.20 0.30 1/100 4242\n"}, "1.00 over the last minute", "ps -eo"),
    ("pressure", {"proc/pressure/cpu": "some avg10=12.50 avg60=0 avg300=0 total=1\n"}, "12.5% of the last ten seconds", "ps -eo"),
    ("cpu_quota", {f"{GROUP}/user.slice/cpu.max": "50000 100000\n"}, "0.5 CPUs", "CPUQuota="),
    ("throttling", {f"{GROUP}/user.slice/cpu.stat": "nr_periods 9\nnr_throttled 7\n"}, "7 times so far", "CPUQuota="),
    ("swap", {"proc/swaps": "Filename\tType\n/a b\tfile\t1024\t512\t-2\n"}, "1 area, 512 KiB used", "sudo swapoff -a"),
    ("huge_pages", {"sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never\n"}, "always", "echo madvise | sudo tee"),
    ("clocksource", {f"{CLOCK}/current_clocksource": "hpet\n"}, "hpet", f"echo tsc | sudo tee /{CLOCK}/current_clocksource"),
    ("thermal", {f"{CPU2}/thermal_throttle/package_throttle_count": "3\n"}, "CPU 2 3 times since boot", "dmesg"),
    ("power", {f"{SUPPLY}/AC/online": "0\n", f"{SUPPLY}/BAT0/status": "Discharging\n"}, "battery (BAT0)", "connect the mains"),
]


@pytest.mark.parametrize(("name", "changes", "value", "mend"), FAILING, ids=[case[0] for case in FAILING])
def test_not_as_it_should_be(name: str, changes: Mapping[str, str | None], value: str, mend: str, tmp_path: Path) -> None:
    found = find(name, plant(tmp_path, {**GOOD, **changes}))
    assert found.state is State.FAIL, found
    assert value in found.value
    assert mend in found.mend
    assert found.why


def test_every_reader_of_files_can_fail() -> None:
    assert {case[0] for case in FAILING} | {"aslr_system", "busy"} == set(OF_FILES)


OTHERS: list[tuple[str, Mapping[str, str | None], Plan, State, str]] = [
    # Governors of several CPUs: each is named, and only the wrong one is mended.
    (
        "governor",
        {f"{CPU}/cpu1/cpufreq/scaling_governor": "schedutil"},
        BOTH,
        State.FAIL,
        "schedutil on CPU 1; performance on CPU 2",
    ),
    # One of the CPUs says nothing: then nothing is known of the whole.
    ("governor", {}, BOTH, State.UNKNOWN, "cpu1"),
    ("governor", {f"{CPU2}/cpufreq/scaling_governor": "0 perf"}, PINNED, State.UNKNOWN, "no governor"),
    # The driver's switch, and each CPU's own (amd_pstate).
    ("turbo", {f"{CPU}/intel_pstate/no_turbo": None, f"{CPU}/cpufreq/boost": "0"}, PINNED, State.PASS, "cpufreq/boost is 0"),
    ("turbo", {f"{CPU}/intel_pstate/no_turbo": None, f"{CPU}/cpufreq/boost": "1"}, PINNED, State.FAIL, "cpufreq/boost is 1"),
    (
        "turbo",
        {f"{CPU}/intel_pstate/no_turbo": None, f"{CPU}/cpufreq/boost": "1", f"{CPU2}/cpufreq/boost": "0"},
        PINNED,
        State.PASS,
        "off for CPU 2",
    ),
    ("turbo", {f"{CPU}/intel_pstate/no_turbo": None, f"{CPU2}/cpufreq/boost": "0"}, PINNED, State.PASS, "off for CPU 2"),
    ("turbo", {f"{CPU}/intel_pstate/no_turbo": None, f"{CPU2}/cpufreq/boost": "1"}, PINNED, State.FAIL, "on for CPU 2"),
    # intel_pstate switched off leaves its switch behind.
    ("turbo", {f"{CPU}/intel_pstate/status": "off", f"{CPU}/cpufreq/boost": "1"}, PINNED, State.FAIL, "cpufreq/boost is 1"),
    ("turbo", {f"{CPU}/intel_pstate/no_turbo": "2"}, PINNED, State.UNKNOWN, "2 is neither 0 nor 1"),
    ("frequency", {f"{CPU2}/cpufreq/scaling_min_freq": "4000000"}, PINNED, State.UNKNOWN, "a range from 4000000 to 3000000"),
    # A sibling that is isolated, too, has nothing to do.
    ("smt", {f"{CPU2}/topology/thread_siblings_list": "2-3"}, PINNED, State.PASS, "which is isolated"),
    ("smt", {f"{CPU2}/topology/thread_siblings_list": "2-3", f"{CPU}/isolated": "\n"}, PINNED, State.FAIL, "shares a core with 3"),
    ("smt", {f"{CPU2}/topology/thread_siblings_list": "0-1"}, PINNED, State.UNKNOWN, "does not name CPU 2"),
    # What a guest is shown of its cores proves nothing.
    ("smt", {"proc/cpuinfo": "flags : hypervisor"}, PINNED, State.UNKNOWN, "hypervisor"),
    ("affinity", {}, FOUR, State.WARN, "free to move over CPU 0-3"),
    ("affinity", {}, BOTH, State.FAIL, "pinned to CPU 1-2"),
    ("isolated", {f"{CPU}/isolated": "\n"}, PINNED, State.WARN, "no CPU is isolated"),
    ("isolated", {f"{CPU}/isolated": ""}, PINNED, State.UNKNOWN, "empty"),
    ("isolated", {f"{CPU}/isolated": "0-3"}, FOUR, State.PASS, "0-3"),
    # Without the flags of x86 the absence of a sign is no sign.
    ("hypervisor", {"proc/cpuinfo": "Features: fp asimd\n"}, PINNED, State.UNKNOWN, "no flags"),
    ("hypervisor", {"sys/hypervisor/type": ""}, PINNED, State.UNKNOWN, "empty"),
    ("steal", {STAT: "cpu  1000 0 500 9000 10 0 5 30 0 0\n"}, PINNED, State.WARN, "0.28%"),
    ("steal", {STAT: "cpu  1 2 3 4\n"}, PINNED, State.UNKNOWN, "no line of CPU times with steal"),
    # ASLR: the whole system's setting, the process's, and what a plan wants of them.
    ("aslr", {"proc/self/personality": "00000000", "proc/sys/kernel/randomize_va_space": "0"}, PINNED, State.PASS, "No randomization"),
    ("aslr", {"proc/self/personality": "00000000"}, FOUR, State.PASS, "Full randomization"),
    ("aslr", {}, FOUR, State.WARN, "one layout for all processes"),
    ("aslr", {"proc/self/personality": "what"}, PINNED, State.UNKNOWN, "not a hexadecimal number"),
    ("aslr_system", {"proc/sys/kernel/randomize_va_space": "1"}, FOUR, State.FAIL, "Conservative randomization"),
    ("aslr_system", {"proc/sys/kernel/randomize_va_space": "3"}, FOUR, State.UNKNOWN, "none of 0, 1, 2"),
    ("load", {"proc/loadavg": "0.50 1 1 1/1 1"}, PINNED, State.WARN, "0.50"),
    ("load", {"proc/loadavg": "3.00 1 1 1/1 1", f"{CPU}/online": "0-63"}, PINNED, State.PASS, "3.00"),
    ("load", {"proc/loadavg": "nan 1 1 1/1 1"}, PINNED, State.UNKNOWN, "'nan' is not a load"),
    ("pressure", {"proc/pressure/cpu": "some avg10=1.00 avg60=0 avg300=0 total=1\n"}, PINNED, State.WARN, "1%"),
    ("pressure", {"proc/pressure/cpu": "full avg10=0.00\n"}, PINNED, State.UNKNOWN, "no share"),
    # Version 2: limits of ancestors hold; the root of the tree has none; who sees nothing knows nothing.
    ("cpu_quota", {f"{GROUP}/user.slice/session/cpu.max": "400000 100000"}, PINNED, State.WARN, "4 CPUs"),
    ("cpu_quota", {"proc/self/cgroup": "0::/\n"}, PINNED, State.PASS, "none"),
    ("cpu_quota", {"proc/self/cgroup": "0::/\n", f"{GROUP}/cpu.max": "20000 100000"}, PINNED, State.FAIL, "0.2 CPUs"),
    ("cpu_quota", {f"{GROUP}/user.slice/cpu.max": "lots"}, PINNED, State.UNKNOWN, "not a number"),
    ("cpu_quota", {f"{GROUP}/user.slice/cpu.max": "50000 0"}, PINNED, State.UNKNOWN, "no quota"),
    (
        "cpu_quota",
        {f"{GROUP}/user.slice/cpu.max": None, f"{GROUP}/cgroup.controllers": "memory"},
        PINNED,
        State.UNKNOWN,
        "no level of our cgroup",
    ),
    ("throttling", {"proc/self/cgroup": "0::/\n"}, PINNED, State.PASS, "cannot be"),
    ("throttling", {f"{GROUP}/user.slice/cpu.stat": "nr_throttled many"}, PINNED, State.UNKNOWN, "not a number"),
    (
        "throttling",
        {f"{GROUP}/user.slice/cpu.max": "50000 100000", f"{GROUP}/user.slice/cpu.stat": None},
        PINNED,
        State.UNKNOWN,
        "no count of what it stopped",
    ),
    # Version 1, seen from the host and from a container, whose path is not shown.
    (
        "cpu_quota",
        {**V1, f"{V1_CPU}/docker/abc/cpu.cfs_quota_us": "-1", f"{V1_CPU}/docker/abc/cpu.cfs_period_us": "100000"},
        PINNED,
        State.PASS,
        "none",
    ),
    (
        "cpu_quota",
        {**V1, f"{V1_CPU}/docker/abc/cpu.cfs_quota_us": "25000", f"{V1_CPU}/docker/abc/cpu.cfs_period_us": "100000"},
        PINNED,
        State.FAIL,
        "0.25 CPUs",
    ),
    ("cpu_quota", {**V1, f"{V1_CPU}/cpu.cfs_quota_us": "150000", f"{V1_CPU}/cpu.cfs_period_us": "100000"}, PINNED, State.WARN, "1.5 CPUs"),
    ("cpu_quota", {**V1, f"{GROUP}/cpu/cpu.cfs_quota_us": "-1", f"{GROUP}/cpu/cpu.cfs_period_us": "1"}, PINNED, State.PASS, "none"),
    ("throttling", {**V1, f"{V1_CPU}/cpu.stat": "nr_periods 5\nnr_throttled 2\nthrottled_time 9\n"}, PINNED, State.FAIL, "2 times"),
    ("throttling", {**V1, f"{V1_CPU}/cpu.stat": "nr_throttled 0\n"}, PINNED, State.PASS, "never"),
    ("swap", {"proc/swaps": "Filename\tType\n/dev/sda2\tpartition\t1024\t0\t-2\n"}, PINNED, State.WARN, "1 area, 0 KiB used"),
    ("swap", {"proc/swaps": "nothing\n"}, PINNED, State.UNKNOWN, "not a list of swap areas"),
    ("swap", {"proc/swaps": "Filename\tType\n/dev/sda2\n"}, PINNED, State.UNKNOWN, "not a swap area"),
    ("huge_pages", {"sys/kernel/mm/transparent_hugepage/enabled": "always madvise [never]"}, PINNED, State.PASS, "never"),
    ("huge_pages", {"sys/kernel/mm/transparent_hugepage/enabled": "always madvise never"}, PINNED, State.UNKNOWN, "chooses nothing"),
    ("clocksource", {f"{CLOCK}/current_clocksource": "kvm-clock"}, PINNED, State.WARN, "kvm-clock"),
    ("clocksource", {f"{CLOCK}/current_clocksource": "arch_sys_counter"}, PINNED, State.PASS, "arch_sys_counter"),
    ("clocksource", {f"{CLOCK}/current_clocksource": "a b"}, PINNED, State.UNKNOWN, "no clock source"),
    ("power", {f"{SUPPLY}/AC/online": "0", f"{SUPPLY}/BAT0/status": "Full"}, PINNED, State.FAIL, "mains not connected"),
    ("power", {f"{SUPPLY}/AC/type": None, f"{SUPPLY}/AC/online": None}, PINNED, State.PASS, "battery is full"),
    ("power", {f"{SUPPLY}/AC/type": ""}, PINNED, State.UNKNOWN, "AC/type"),
    ("power", {f"{SUPPLY}/AC/type": "Battery", f"{SUPPLY}/AC/status": "Unknown"}, PINNED, State.UNKNOWN, "battery is"),
    # A mouse with an empty battery does not slow the machine down.
    (
        "power",
        {f"{SUPPLY}/hid/type": "Battery", f"{SUPPLY}/hid/scope": "Device", f"{SUPPLY}/hid/status": "Discharging"},
        PINNED,
        State.PASS,
        "mains (AC)",
    ),
    ("thermal", {f"{CPU2}/thermal_throttle/core_throttle_count": "-"}, PINNED, State.UNKNOWN, "not a number"),
]


@pytest.mark.parametrize(("name", "changes", "plan", "state", "value"), OTHERS)
def test_other_machines(name: str, changes: Mapping[str, str | None], plan: Plan, state: State, value: str, tmp_path: Path) -> None:
    found = find(name, plant(tmp_path, {**GOOD, **changes}), plan)
    assert (found.state, value in found.value) == (state, True), found


def test_the_busy_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    system = plant(tmp_path, {**GOOD, "proc/23/stat": "23 (hog) R 1 1 1 0 -1 0 0 0 0 0 500 40 0 0 20 0 1 0 5 0 0\n"})
    later = {"proc/23/stat": "23 (hog) R 1 1 1 0 -1 0 0 0 0 0 510 45 0 0 20 0 1 0 5 0 0\n", "proc/99/stat": "99 (new) R"}
    monkeypatch.setattr(load, "sleep", lambda seconds: plant(tmp_path, later))
    found = find("busy", system)
    assert (found.state, found.value) == (State.FAIL, "hog (23)")
    assert "-p 23 " in found.mend


def test_processes_that_may_not_be_read_are_unknown(tmp_path: Path) -> None:
    system = plant(tmp_path, {"proc/17/status": "hidden", "proc/18/stat": ""})
    assert find("busy", system).state is State.UNKNOWN


@pytest.mark.parametrize("name", OF_FILES)
def test_what_may_not_be_read_is_unknown(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    system = plant(tmp_path, GOOD)

    def refuse(*_: object, **__: object) -> str:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_text", refuse)
    found = find(name, system)
    assert found.state is State.UNKNOWN, found


@pytest.mark.parametrize("name", OF_FILES)
def test_folders_that_may_not_be_searched_are_unknown(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    system = plant(tmp_path, GOOD)

    def refuse(*_: object, **__: object) -> bool:
        raise PermissionError(13, "Permission denied")

    for method in ("read_text", "exists", "iterdir"):
        monkeypatch.setattr(Path, method, refuse)
    assert find(name, system).state is State.UNKNOWN


@given(
    text=st.one_of(st.sampled_from(["", " ", "\n", "\0", "1", "-1", "9" * 30, "٣", "[always", "cpu", "(", ")))", "0::", ":::"]), st.text())
)
@settings(max_examples=40)
def test_nonsense_in_every_file_is_never_an_error(text: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    system = plant(tmp_path_factory.mktemp("system"), dict.fromkeys(GOOD, text.encode("utf-8", "replace").decode()))
    for check in CHECKS:
        if check.name in OF_FILES:
            found = check.find(system, PINNED)
            assert found.value
            assert "\n" not in found.value
