"""Draw the picture of the README: epsilon for one requirement, of known noise, of pbdp, and the limit.

python docs/epsilon_picture.py docs/epsilon.svg
"""

import sys
from pathlib import Path

import pbdp
from pbdp.report.pictures.cards import epsilon_bars
from pbdp.report.pictures.svg import bars

plan = pbdp.plan(within=5, confidence=0.9, sensitivity=10, delta=1e-6, integer=True)
rows = epsilon_bars(plan, others=["gaussian", "laplace"])
title = "epsilon needed for “within 5, 90 % of the time” (sensitivity 10, delta 1e-6)"
Path(sys.argv[1]).write_text(bars(rows, title=title, width=720, names=120) + "\n", encoding="utf-8")
