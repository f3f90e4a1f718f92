# SPDX-License-Identifier: Apache-2.0
"""Which steps are sampled for training health: decisions that need no framework."""

from __future__ import annotations

import json
from pathlib import Path

from pykit import plain_env, run_python

# Steps of 1 ms, a sample costs 5 ms, and every 200th step raises an alarm.
LOOP = """
import json
from types import SimpleNamespace
from footplate.hooks.torch_schedule import Schedule
settings = SimpleNamespace(share=0.005, every=50, forced=FORCED)
schedule, now, spent, alarms = Schedule(settings), 0, 0, []
for step in range(100_000):
    cost = 5_000_000 if schedule.is_due(step) else 0
    now, spent = now + 1_000_000 + cost, spent + cost
    if step % 200 == 199 and schedule.alarm(step):
        alarms.append(step)
    schedule.ended(step, now, cost)
print(json.dumps([alarms, spent / now]))
"""

JUMPS = """
import json
from footplate.hooks.torch_schedule import Jumps
def jumps(losses):
    judge = Jumps()
    return [i for i, loss in enumerate(losses) if judge.is_jump(loss)]
falling = [2.3 * 0.95**i for i in range(400)]
print(json.dumps([jumps([*falling, 0.001]), jumps([*falling, 0.5])]))
"""


def said(package: Path, code: str) -> list:
    done = run_python("-c", code, whole_env=plain_env({"PYTHONPATH": str(package)}))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_alarms_after_the_second_wait_until_the_budget_has_paid_for_them(package):
    alarms, share = said(package, LOOP.replace("FORCED", "False"))
    assert alarms[:2] == [199, 399]
    waits = [b - a for a, b in zip(alarms[1:], alarms[2:], strict=False)]
    assert waits and min(waits) > 10_000
    assert share < 0.02


def test_with_health_on_every_alarm_counts(package):
    alarms, _ = said(package, LOOP.replace("FORCED", "True"))
    assert alarms == [199 + 200 * i for i in range(10)]


def test_a_jump_of_a_loss_near_zero_is_noise(package):
    noise, jump = said(package, JUMPS)
    assert noise == []
    assert jump == [400]
