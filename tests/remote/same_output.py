# SPDX-License-Identifier: Apache-2.0
"""Forty commands that must print the same for a run in a local folder, on S3 and on a hub: byte for
byte but for the address, and the moment at which a report was made."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

ROOT = Path(__file__).resolve().parents[2]
# Two ranks on two GPUs with a detail window and a price; one process on one GPU.
RUNS = {"recorded": ROOT / "tests/golden/recorded", "h200": ROOT / "tests/data/runs/h200"}

# RUN and OTHER are replaced by runs, DIR by the place that has them, OUT by a new file or folder.
FORTY = """
show RUN
show RUN --json
show last --dir DIR
ls --dir DIR
ls --dir DIR --json
ls --dir DIR --csv
stats RUN
stats RUN --json
stats RUN --csv --all
stats RUN --window loop --node a
steps RUN
steps RUN --json
steps RUN --csv --rank 1
events RUN
events RUN --json --detail
events RUN --csv
ops RUN
ops RUN --json
ops RUN --csv --by module --device cpu
ops OTHER --by group
breakdown RUN
breakdown RUN --json
breakdown OTHER --csv --table devices
query RUN --metric cpu.util
query RUN --metric cpu.util --csv
query OTHER --metric gpu. --json
check RUN
check RUN --json
check OTHER --csv --set LowGPUUtilization.threshold_p95=99
check RUN --format sagemaker -o OUT
report RUN --format html -o OUT
report RUN --format json -o -
report OTHER --format text -o -
compare RUN OTHER
compare RUN OTHER --json
compare RUN OTHER --format markdown
export RUN --format jsonl -o -
export OTHER --format chrome -o OUT
export RUN --format csv --what steps -o -
note RUN
""".strip().splitlines()  # fmt: skip

RunFp = Callable[..., "CompletedProcess[str]"]


def copy_runs(folder: Path) -> Path:
    """The runs, where a command may not change them."""
    for name, source in RUNS.items():
        shutil.copytree(source, folder / name)
    return folder


def written(out: Path) -> dict[str, bytes]:
    """What a command wrote to OUT, by name."""
    if out.is_dir():
        return {
            p.relative_to(out).as_posix(): p.read_bytes() for p in out.rglob("*") if p.is_file()
        }
    return {"": out.read_bytes()} if out.exists() else {}


def output_of(
    run_fp: RunFp, line: str, base: str, out: Path, env: dict[str, str]
) -> tuple[int, str, str, dict[str, str]]:
    """Status, stdout, stderr and files of a command; the place of the runs is called BASE."""
    words = {"RUN": f"{base}/recorded", "OTHER": f"{base}/h200", "DIR": base, "OUT": str(out)}
    done = run_fp(*[words.get(word, word) for word in line.split()], env=env)

    def plain(text: str) -> str:
        text = text.replace(base, "BASE").replace(str(out), "OUT")
        text = re.sub(r"BASE(\S*) +", r"BASE\1 ", text)  # in tables it is as wide as it is
        text = re.sub(r'"made_ns": ?\d+', '"made_ns": 0', text)
        return re.sub(r"(Footplate \S+) on [-\d]+ [.:\d]+ [+\d]+", r"\1", text)

    files = {name: plain(data.decode("utf-8", "replace")) for name, data in written(out).items()}
    if out.is_dir():
        shutil.rmtree(out)
    else:
        out.unlink(missing_ok=True)
    return done.returncode, plain(done.stdout), plain(done.stderr), files
