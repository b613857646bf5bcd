"""The reference material beside the checkout, which a user's clone does not have: tests read it where it is present."""

from __future__ import annotations

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared"

needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="reference material not present: ../shared")
