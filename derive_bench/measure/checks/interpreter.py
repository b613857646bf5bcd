"""The interpreter: how it was built, and how the plan starts it. Workers run with the interpreter of this process."""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from derive_bench.measure.checks.finding import Check, Outcome, failed, passed, warned
from derive_bench.measure.checks.plan import Plan
from derive_bench.measure.checks.system import System, Unread

__all__ = ["CHECKS", "JUDGES", "Build", "running"]

ANOTHER = "uv python install {0} && uv venv --python {0}  # prebuilt with PGO and LTO".format(
    ".".join(map(str, sys.version_info[:2])),
)

PROFILE_FLAGS = ("-fprofile-use", "-fprofile-instr-use")


@dataclass(frozen=True, slots=True)
class Build:
    """What an interpreter says of itself.

    Attributes:
        variables: of the build, as ``sysconfig`` has them; empty where they are not kept.
        total_references: whether it counts references, as debug builds do.
        gil: whether the lock is on now; None: no version of Python that could tell.
        jit: whether the JIT is on now; None: no version of Python that could tell.
    """

    variables: Mapping[str, object]
    total_references: bool = False
    gil: bool | None = None
    jit: bool | None = None

    def text(self, *names: str) -> str:
        """Variables that are texts, joined.

        Raises:
            Unread: none is there.
        """
        found = [value for name in names if isinstance(value := self.variables.get(name), str)]
        if not found:
            raise Unread(f"sysconfig: no {' and no '.join(names)}")
        return " ".join(found)


def running() -> Build:
    """The interpreter of this process."""
    gil = getattr(sys, "_is_gil_enabled", None)
    jit = getattr(sys, "_jit", None)
    return Build(
        variables=sysconfig.get_config_vars(),
        total_references=hasattr(sys, "gettotalrefcount"),
        gil=gil() if gil else None,
        jit=jit.is_enabled() if jit else None,
    )


def _debug(build: Build) -> Outcome:
    if build.total_references:
        return failed("a debug build")
    if "Py_DEBUG" not in build.variables:
        raise Unread("sysconfig: no Py_DEBUG")
    return failed("a debug build") if build.variables["Py_DEBUG"] else passed("no")


def _profiled(build: Build) -> Outcome:
    arguments, flags = build.text("CONFIG_ARGS"), build.text("PY_CFLAGS_NODIST", "PY_CORE_CFLAGS")
    found = [word for word in ("--enable-optimizations",) if word in arguments]
    found += [flag for flag in PROFILE_FLAGS if flag in flags]
    return passed(found[0]) if found else failed("not optimised by a profile")


def _linked(build: Build) -> Outcome:
    arguments = build.text("CONFIG_ARGS")
    flags = build.text("PY_CFLAGS_NODIST", "PY_CORE_CFLAGS", "PY_LDFLAGS_NODIST", "PY_CORE_LDFLAGS")
    words = arguments.replace("'", " ").split()
    found = [word for word in words if word.startswith("--with-lto") and not word.endswith("=no")]
    found += [flag for flag in flags.split() if flag.startswith("-flto")]
    return passed(found[0]) if found else failed("no optimisation across files")


def _threads(build: Build) -> Outcome:
    if build.gil is False:
        return failed("free-threaded, the lock is off")
    if build.variables.get("Py_GIL_DISABLED"):
        return failed("free-threaded, the lock is on")
    if not build.variables:
        raise Unread("sysconfig: nothing is kept of the build")
    return passed("one thread at a time")


def _jit(build: Build) -> Outcome:
    if build.jit is not None:
        return failed("on") if build.jit else passed("off")
    arguments = build.text("CONFIG_ARGS").replace("'", " ").split()
    built = [word for word in arguments if word.startswith("--enable-experimental-jit") and not word.endswith(("=no", "=interpreter"))]
    return failed(f"built with {built[0]}") if built else passed("none")


JUDGES: Mapping[str, Callable[[Build], Outcome]] = {
    "python_debug": _debug,
    "python_pgo": _profiled,
    "python_lto": _linked,
    "python_threads": _threads,
    "python_jit": _jit,
}
"""What a build means, by the name of the check."""


def _of_the_build(judge: Callable[[Build], Outcome]) -> Callable[[System, Plan], Outcome]:
    return lambda _, __: judge(running())


def _hash_seed(_: System, plan: Plan) -> Outcome:
    seed = plan.hash_seed
    fixed = seed is not None and seed != "random"
    value = f"fixed: {seed}" if fixed else "random per process"
    if plan.fixed:
        return passed(value) if fixed else failed(value, "python -m derive_bench --profile publish")
    return warned(value, "unset PYTHONHASHSEED") if fixed else passed(value)


def _warm_up(_: System, plan: Plan) -> Outcome:
    values = f"{plan.warmups} value{'' if plan.warmups == 1 else 's'} of each process"
    if plan.warmups < 1:
        return failed("nothing is set aside")
    if plan.warmup_pass:
        return passed(f"a whole pass, then {values}")
    return failed(values, "python -m derive_bench --profile publish") if plan.fixed else passed(values)


CHECKS = (
    Check("python_debug", "assertions and counts of a debug build multiply every time", ANOTHER, _of_the_build(_debug)),
    Check("python_pgo", "without a profile the interpreter's loop is some ten to thirty percent slower", ANOTHER, _of_the_build(_profiled)),
    Check("python_lto", "without it calls within the interpreter are not inlined across files", ANOTHER, _of_the_build(_linked)),
    Check("python_threads", "without the lock every reference count costs more", ANOTHER, _of_the_build(_threads)),
    Check("python_jit", "what it compiles, and when, differs from run to run", "export PYTHON_JIT=0", _of_the_build(_jit)),
    Check(
        "hash_seed",
        "it orders sets and moves collisions of dicts: fixed, runs repeat; random, they average over orders",
        "python -m derive_bench --profile publish",
        _hash_seed,
    ),
    Check(
        "warm_up",
        "the first calls specialise code, fill caches and raise the clock",
        "python -m derive_bench --warmups 1",
        _warm_up,
    ),
)
