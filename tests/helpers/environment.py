"""What runs the tests."""

from __future__ import annotations

import os

#: under `make sanitize`: limits on memory do not hold there, and other libraries cannot be preloaded
SANITIZED = any(name in os.environ.get("LD_PRELOAD", "") for name in ("libasan", "libtsan"))
