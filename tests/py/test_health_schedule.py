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


QUIET = """
import json
from types import SimpleNamespace
from footplate.hooks.torch_schedule import Schedule
def recorded(stride):
    schedule = Schedule(SimpleNamespace(share=0.005, every=50, forced=False))
    schedule.stride = stride
    return [step for step in range(6400) if not schedule.is_quiet(step)]
steps = {stride: recorded(stride) for stride in (1, 2, 8, 64)}
print(json.dumps([
    {stride: len(found) for stride, found in steps.items()},
    {stride: sum(step % 2 for step in found) / len(found) for stride, found in steps.items()},
    set(steps[64]) <= set(steps[8]) <= set(steps[2]),
]))
"""


def test_steps_that_are_recorded_are_as_often_odd_as_even_and_common_to_all_ranks(package):
    counts, odd, common = said(package, QUIET)
    assert counts["1"] == 6400
    assert all(abs(counts[stride] * int(stride) - 6400) < 200 for stride in counts)
    assert all(0.45 < share < 0.55 for share in odd.values())  # batches may come in turn
    assert common


# Steps of 10 ms; their numbers take 20 us of each, and a sample takes 2.4 ms.
BOTH = """
import json
from types import SimpleNamespace
from footplate.hooks.torch_schedule import Schedule
settings = SimpleNamespace(share=0.005, every=50, forced=False)
schedule, now, spent = Schedule(settings), 0, 0
for step in range(20_000):
    due = schedule.is_due(step)
    cost = 2_400_000 if due else 20_000 if not schedule.is_quiet(step) else 0
    now += 10_000_000 + cost
    spent += cost if step >= 200 else 0
    if not due and cost:
        schedule.scalars_cost(cost)
    schedule.ended(step, now, cost if due else 0)
print(json.dumps([schedule.stride, schedule.interval(19_999), spent / now]))
"""


def test_samples_get_of_the_budget_what_the_numbers_of_every_step_leave(package):
    stride, interval, share = said(package, BOTH)
    assert stride == 1
    assert interval == 100  # one in 50 alone would take 0.48 %
    assert share < 0.005
