"""The command: finds the verb, calls it, and turns refusals into one line.

``python -m derive_bench [SUITE …] [options]`` measures suites; the first word may instead be a verb (:data:`VERBS`). A verb is a module
of this package with a function ``run(words) -> int``: it parses, calls and prints. Results go to standard output, progress and
complaints to standard error.

Exit codes: 0 done; 1 a verdict went against it; 2 wrong usage or a refusal, one line on standard error; 130 interrupted.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module

from derive_bench.cli.options import INTERRUPTED, Refusal
from derive_bench.measure.catalogue import SelectionError
from derive_bench.measure.inputs import DataError
from derive_bench.measure.reference import ReferenceUnreadable
from derive_bench.measure.rows import RowError
from derive_bench.measure.trees import TreeMissing

__all__ = ["VERBS", "main"]

VERBS = {
    "list": "listing",
    "check": "check",
    "count": "count",
    "tail": "tail",
    "compare": "compare",
    "ab": "ab",
    "selftest": "selftest",
    "peers": "peers",
    "baseline": "baseline",
    "report": "report",
    "boundary": "boundary",
    "serve": "serve",
    "capture": "capture",
    "synth": "synth",
    "replay": "replay",
}
"""What the first word may be instead of a suite, and the module that does it. ``suites.EPILOG`` says each in a line."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with ``argv`` (default: the process's own) and return its exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    module, words = (VERBS[words[0]], words[1:]) if words and words[0] in VERBS else ("suites", words)
    try:
        code: int = import_module(f"{__name__}.{module}").run(words)
    except (Refusal, SelectionError, RowError, DataError, TreeMissing, ReferenceUnreadable) as error:
        print(f"derive-bench: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("derive-bench: interrupted before anything was measured", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output has gone (``… | head``): nothing to say, and nothing to flush at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return code
