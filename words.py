#!/usr/bin/env python3
"""words.py TREE [--plain]: STYLE.md's vocabulary in a checkout. --plain: no ruff, no report.."""

import runpy
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / ".cache" / "words"
sys.path.insert(0, str(FOLDER))
sys.argv[0] = str(FOLDER / "words.py")
runpy.run_path(sys.argv[0], run_name="__main__")
