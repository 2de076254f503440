"""Makes the helper modules of this folder importable from every test, and keeps torch from fighting over cores."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

# Tiny models gain nothing from more threads, and lose a lot when the machine is busy. Subprocesses inherit it.
os.environ.setdefault("OMP_NUM_THREADS", "1")
