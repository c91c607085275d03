"""Where the recordings used by tests lie, beside the checkout; tests that need them are skipped elsewhere."""

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared"

needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason=f"recordings are not at {SHARED}")
