"""``python -m derive_bench``: see :mod:`derive_bench.cli`."""

import sys

from derive_bench.cli import main

sys.exit(main())
