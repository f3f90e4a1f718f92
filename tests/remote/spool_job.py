# SPDX-License-Identifier: Apache-2.0
"""spool_job.py SECONDS: counters with values that do not compress, about 100 000 a second."""

from __future__ import annotations

import random
import sys
import time

import footplate

until = time.monotonic() + float(sys.argv[1])
values = [random.getrandbits(62) for _ in range(3000)]
while time.monotonic() < until:
    shift = random.getrandbits(62)
    for value in values:
        footplate.counter("value", value ^ shift)
    time.sleep(0.03)
