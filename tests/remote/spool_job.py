# SPDX-License-Identifier: Apache-2.0
"""spool_job.py BURSTS: counters with values that do not compress, 27 kB a burst when sealed."""

from __future__ import annotations

import random
import sys
import time

import footplate

values = [random.getrandbits(62) for _ in range(3000)]
for _ in range(int(sys.argv[1])):
    shift = random.getrandbits(62)
    for value in values:
        footplate.counter("value", value ^ shift)
    time.sleep(0.03)
