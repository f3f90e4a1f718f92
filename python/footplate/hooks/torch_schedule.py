# SPDX-License-Identifier: Apache-2.0
"""Which training steps are sampled, which have their numbers recorded, and which losses stand out:
the decisions of torch_health.py, without anything of torch."""

from . import _scalars

ALWAYS, EARLY, EARLY_EVERY = 3, 100, 10  # steps that are always sampled; the early ones
ALARM_STEPS, MOST_ALARMS, ALARM_DISTANCE = 20, 10, 200
FREE_ALARMS = 2  # later ones wait until the budget has paid for those before
SCALAR_SHARE, MOST_STRIDE = 0.01, 64  # of the loop, for the numbers of every step
LEAST_SHARE = 0.8  # of what the settings grant, for samples, when those numbers take much of it
MIX = 0x9E3779B1
MOST_SUM_STEPS = 4096  # in the sums of the schedule; then they are halved


class Schedule:
    """Which steps are sampled."""

    def __init__(self, settings: "_scalars.Settings") -> None:
        self.settings = settings
        self.wall_ns = self.steps = 0.0
        self.cost_ns = self.samples = 0.0
        self.scalar_ns = self.scalars = 0.0
        self.stride = 1  # of steps that have their numbers recorded
        self.last_ns = 0
        self.armed = self.alarms = self.quiet_until = 0

    def interval(self, step: int) -> int:
        """A multiple of what the settings request, that the budget pays for."""
        every = self.least(step)
        if self.settings.forced or not self.samples or not self.wall_ns:
            return every
        share = self.settings.share * self.wall_ns / self.steps  # of each step
        pays = max(share - self.scalars_take(), LEAST_SHARE * share)
        while every * pays < self.cost_ns / self.samples and every < 1 << 20:
            every *= 2
        return every

    def least(self, step: int) -> int:
        return min(EARLY_EVERY, self.settings.every) if step < EARLY else self.settings.every

    def is_due(self, step: int) -> bool:
        if step < ALWAYS or self.armed > 0:
            return True
        return step % self.least(step) == 0 and step % self.interval(step) == 0

    def scalars_cost(self, cost_ns: int) -> None:
        """What the numbers of a step took."""
        self.scalar_ns += cost_ns
        self.scalars += 1
        pays = SCALAR_SHARE * self.wall_ns / self.steps if self.steps else 0.0
        if self.settings.forced or self.scalars % 16 or not pays:
            return
        stride, cost = 1, self.scalar_ns / self.scalars
        while stride < MOST_STRIDE and cost > pays * stride:
            stride *= 2
        self.stride = stride
        self.scalar_ns, self.scalars = self.scalar_ns / 2, self.scalars / 2

    def scalars_take(self) -> float:
        """What they take of each step, in the mean."""
        return self.scalar_ns / self.scalars / self.stride if self.scalars else 0.0

    def is_quiet(self, step: int) -> bool:
        """Whether the numbers of the step are left out: not in a regular order, which could meet a
        regular one of the batches, but the same in every process."""
        return (step * MIX >> 8) & (self.stride - 1) != 0

    @staticmethod
    def is_on_grid(step: int) -> bool:
        """Steps at which every rank sums its words, whatever a sample costs it."""
        return step < ALWAYS or step % (EARLY_EVERY if step < EARLY else _scalars.EVERY) == 0

    def ended(self, step: int, now_ns: int, cost_ns: int) -> None:
        """A step is over, in which a sample cost so much; 0: none was taken."""
        if step > 0 and self.last_ns:
            self.wall_ns += now_ns - self.last_ns
            self.steps += 1
            if cost_ns:
                self.cost_ns += cost_ns
                self.samples += 1
        self.last_ns = now_ns
        if self.armed:
            self.armed -= 1
        if self.steps > MOST_SUM_STEPS:
            self.wall_ns, self.steps = self.wall_ns / 2, self.steps / 2
            self.cost_ns, self.samples = self.cost_ns / 2, self.samples / 2

    def alarm(self, step: int) -> bool:
        """Whether the next steps are sampled because of it."""
        if step < self.quiet_until or self.alarms >= MOST_ALARMS:
            return False
        self.alarms += 1
        self.quiet_until = step + ALARM_DISTANCE
        if self.alarms >= FREE_ALARMS and not self.settings.forced and self.samples:
            pays = self.settings.share * self.wall_ns / self.steps  # by each step
            cost = ALARM_STEPS * self.cost_ns / self.samples
            self.quiet_until = step + max(ALARM_DISTANCE, int(cost / max(pays, 1.0)))
        self.armed = ALARM_STEPS
        return True


class Jumps:
    """Whether a loss stands out from those before it: a cheap test that only raises an alarm."""

    FIRST = 32
    LEAST = 0.02  # of the first loss: smaller jumps of a loss near 0 are noise

    def __init__(self) -> None:
        self.mean = self.spread = self.first = 0.0
        self.seen = 0

    def is_jump(self, value: float) -> bool:
        away = value - self.mean
        if self.seen >= self.FIRST:
            jump = away > 10 * self.spread + 0.2 * abs(self.mean)
        else:
            jump = self.seen > 0 and away > 20 * abs(self.mean)
        if self.seen == 0:
            self.first = abs(value)
        jump = jump and away > self.LEAST * self.first
        self.seen += 1
        rate = max(0.05, 1 / self.seen)
        if not jump:
            self.mean += rate * away
            self.spread += rate * (abs(away) - self.spread)
        return jump
