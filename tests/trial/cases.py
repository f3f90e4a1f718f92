# SPDX-License-Identifier: Apache-2.0
"""The cases of the trial: 21 planted problems with the cause and the advice that must be found, and
10 kinds of healthy runs."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Case:
    name: str
    rule: str  # the first finding; "": none of severity warning or above
    advice: str = ""  # a pattern that the advice of that finding matches; of each planted problem
    file: str = "planted.py"
    program: str = ""  # of the file; "": as the case
    seconds: float = 8  # of the loop
    others: int = 0  # busy programs beside it, also on a quiet machine
    quota: int = 0  # percent of a core that it may use; 0: all
    status: int = 0  # of the job
    needs: tuple[str, ...] = ()  # modules
    knobs: dict[str, float] = field(default_factory=dict)
    # It needs little CPU, or ends too early: busy neighbours do not hold it up.
    unshared: bool = False
    # What the advice says, as knobs: the value, or a pattern with one group that has it.
    cure: dict[str, float | str] = field(default_factory=dict)
    # Where no program can show the gain: the reason.
    no_cure: str = ""


PLANTED = (
    Case(
        "decode",
        "Dataloader",
        r"Set num_workers to \d",
        cure={"workers": r"Set num_workers to (\d+)"},
    ),
    Case(
        "leak",
        "HostMemoryIncrease",
        r"grow with every step",
        seconds=64,
        no_cure="a leak costs no time until the end",
    ),
    Case("checkpoint", "CheckpointStall", r"less often", cure={"every": 40}),
    Case("evaluate", "EvalHeavy", r"less often", cure={"every": 400}),
    Case(
        "neighbours",
        "SharedMachine",
        r"machine of its own",
        others=6,
        no_cure="the others are no knob of it",
    ),
    Case(
        "threads",
        "ThreadOversubscription",
        r"set_num_threads|OMP_NUM_THREADS",
        cure={"threads": r"(?:OMP_NUM_THREADS=|set_num_threads\()(\d+)"},
    ),
    Case("gil", "GilContention", r"process", cure={"helpers": 0}),
    Case(
        "between",
        "TimeBetweenSteps",
        r"between optimizer\.step\(\) and the next batch",
        cure={"every": 100},
        unshared=True,
    ),
    Case("slow_rank", "Straggler", r"rank 1", cure={"sleep_ms": 0}, unshared=True),
    Case(
        "remote",
        "Dataloader",
        r"Set num_workers to ([4-9]|\d\d)",
        cure={"workers": r"Set num_workers to (\d+)"},
        unshared=True,
    ),
    Case("in_memory", "Dataloader", r"in memory", cure={"sliced": 1}),
    Case("restarted", "LoaderStart", r"persistent_workers", cure={"persistent": 1}),
    Case("storage", "SlowStorage", r"local disk|in memory", cure={"in_memory": 1}, unshared=True),
    Case("stalls", "StepOutlier", r"in 'forward' of these steps", cure={"every": 0}),
    Case(
        "ending",
        "SlowFinalization",
        r"after its last step",
        no_cure="the loop is not faster",
        unshared=True,
    ),
    Case("recompiles", "CompileTime", r"dynamic", seconds=20, cure={"dynamic": 1}),
    Case("limited", "SharedMachine", r"limit", quota=50, no_cure="the limit is no knob of it"),
    Case("fails", "FailedEarly", r"the job's output", status=1, no_cure="it fails", unshared=True),
    Case(
        "killed", "FailedEarly", r"what sent SIGKILL", status=137, no_cure="it fails", unshared=True
    ),
    Case(
        "keras_generator",
        "Dataloader",
        r"PyDataset",
        file="frameworks.py",
        needs=("keras",),
        cure={"workers": r"workers=(\d+)"},
        unshared=True,
    ),
    Case(
        "trainer",
        "EvalHeavy",
        r"less often",
        file="frameworks.py",
        needs=("transformers",),
        cure={"eval_every": 400},
    ),
)

HEALTHY = (
    Case("plain", "", file="healthy.py"),
    Case("workers", "", file="healthy.py"),
    Case("whole", "", file="healthy.py"),
    Case("convolutions", "", file="healthy.py"),
    Case("balanced", "", program="slow_rank", knobs={"sleep_ms": 0}),
    Case("keras_arrays", "", file="frameworks.py", needs=("keras",)),
    Case(
        "trainer_seldom",
        "",
        file="frameworks.py",
        program="trainer",
        needs=("transformers",),
        knobs={"eval_every": 400},
    ),
    Case("lightning", "", file="frameworks.py", needs=("lightning",)),
    Case("xgboost", "", file="frameworks.py", needs=("xgboost",)),
    Case("lightgbm", "", file="frameworks.py", needs=("lightgbm",)),
)

HEALTHY_TIMES = 3
GOALS = {"quiet": 19, "busy": 17}  # right causes, of 21
QUICK = ("decode", "between", "fails", "plain")  # of `--quick`
