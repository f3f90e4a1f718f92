# SPDX-License-Identifier: Apache-2.0
"""Runs on object storage, against the stub of tests/remote on loopback: what the shipper of a
living node costs and how late it is, what its requests cost, the first picture of a finished
node-day with 30 ms round trips, and a list of 100 000 runs."""

from __future__ import annotations

import contextlib
import ctypes
import ctypes.util
import json
import os
import pathlib
import statistics
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from typing import Any

from harness import ROOT, Context, Line, Result, Skipped

sys.path.insert(0, str(ROOT / "tests" / "remote"))
import s3_stub  # noqa: E402

DEST = "s3://bucket/runs"
ROUND_TRIP_S = 0.030
DAY_S = 86400.0
SEGMENTS_A_DAY = 425 + 6  # of the readings and events of that node
JOINED = 1 + 1 / 16 + 1 / 256  # sealed parts are put again when sixteen are joined
PUT_DOLLARS = 0.005 / 1000  # list price of us-east-1
RUNS = 100_000


@contextlib.contextmanager
def served(delay_s: float = 0.0) -> Iterator[s3_stub.Stub]:
    stub, server = s3_stub.start()
    stub.delay_s = delay_s
    try:
        yield stub
    finally:
        server.shutdown()
        server.server_close()


def environment(stub: s3_stub.Stub, cache: pathlib.Path, secret: str = "s") -> dict[str, str]:
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("AWS_", "FOOTPLATE_"))}
    return clean | {
        "AWS_ENDPOINT_URL_S3": stub.url,
        "AWS_ACCESS_KEY_ID": "k",
        "AWS_SECRET_ACCESS_KEY": secret,
        "AWS_CONFIG_FILE": "/nonexistent",
        "AWS_SHARED_CREDENTIALS_FILE": "/nonexistent",
        "AWS_EC2_METADATA_DISABLED": "true",
        "XDG_CACHE_HOME": str(cache),
    }


def timed(command: list[str], env: dict[str, str]) -> tuple[float, bytes]:
    begin = time.monotonic()
    done = subprocess.run(command, env=env, check=True, capture_output=True)
    return time.monotonic() - begin, done.stdout


# ---- shipping


def shipper_of(secret: str) -> int | None:
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            here = secret.encode() in (folder / "environ").read_bytes()
            if here and b"libcurl" in (folder / "maps").read_bytes():
                return int(folder.name)
    return None


def cpu_s(pid: int) -> float:
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_mb(pid: int, key: str) -> float:
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return next(float(x.split()[1]) for x in text.splitlines() if x.startswith(key)) / 1000


def puts(stub: s3_stub.Stub) -> dict[str, int]:
    """Since the log was emptied, by what they are."""
    kinds = {"tail": 0, "sealed": 0, "other": 0}
    for asked in stub.log:
        if asked.method == "PUT":
            tail, sealed = asked.key.endswith(".tail"), ".fp" in asked.key
            kinds["tail" if tail else "sealed" if sealed else "other"] += 1
    return kinds


class Lag(threading.Thread):
    """How old the newest data at the destination is, each time before it is replaced."""

    def __init__(self, stub: s3_stub.Stub) -> None:
        super().__init__(daemon=True)
        self.stub, self.end, self.worst_s = stub, threading.Event(), 0.0

    def run(self) -> None:
        while not self.end.wait(0.05):
            found = [v.changed for k, v in list(self.stub.objects.items()) if "metrics.tail" in k]
            if found:
                self.worst_s = max(self.worst_s, time.time() - max(found))


def shipping(context: Context, result: Result) -> None:
    """Rounds once a second instead of once a minute, so that there are enough of them."""
    seconds = 20 if context.quick else 75
    secret = uuid.uuid4().hex
    runs = context.scratch / "ship"
    with served() as stub:
        command = [context.footplate, "run", "--dir", str(runs), "--quiet", "-i", "10ms"]
        sleep, send = ["--", "sleep", str(seconds + 15)], ["--to", DEST, "--to-interval", "1s"]
        env = environment(stub, context.scratch / "c")
        alone = subprocess.Popen([*command, *sleep], env=env)
        job = subprocess.Popen([*command, *send, *sleep],
                               env=environment(stub, context.scratch / "c", secret))  # fmt: skip
        time.sleep(8)
        pid = shipper_of(secret)
        if pid is None:
            raise Skipped("there is no shipper: libcurl is missing?")
        lag = Lag(stub)
        lag.start()
        before, begin = cpu_s(pid), time.monotonic()
        stub.log.clear()
        time.sleep(seconds)
        used, took, sent = cpu_s(pid) - before, time.monotonic() - begin, puts(stub)
        counts = stub.counts()
        tails = [len(v.body) for k, v in stub.objects.items() if "metrics.tail" in k]
        anonymous, all_mb = memory_mb(pid, "RssAnon"), memory_mb(pid, "VmHWM")
        more = memory_mb(job.pid, "RssAnon") - memory_mb(alone.pid, "RssAnon")
        lag.end.set()
        job.wait(120)
        alone.wait(120)
    rounds = took  # one a second
    minutes = DAY_S / 60
    share = 100 * used / rounds * minutes / DAY_S
    tail_day = 2 * sent["tail"] / rounds * minutes  # a training job has events, too
    sealed_day = SEGMENTS_A_DAY * JOINED
    other_day = minutes / 10 + 6  # node.json at most every ten minutes, entries, run.json
    dollars = (tail_day + sealed_day + other_day) * PUT_DOLLARS
    result.lines += [
        Line("shipper, share of a core at 60 s", share, "%", "0.1", share <= 0.1,
             note=f"{1000 * used / rounds:.2f} ms of CPU a round, {took:.0f} rounds, "
                  f"tail of {sum(tails) / 1000:.0f} kB at the end"),
        Line("shipper, its own memory", anonymous, "MB", "20", anonymous <= 20,
             note=f"{all_mb:.0f} MB with libraries and shared pages"),
        Line("recorder, memory more than without", more, "MB", "0", more <= 0.1),
        Line("lag at 1 s, worst", lag.worst_s, "s", "interval + 5", lag.worst_s <= 6),
        Line("requests a node-day at 60 s", tail_day + sealed_day + other_day, "PUT",
             note=f"{tail_day:.0f} tails, {sealed_day:.0f} sealed, {other_day:.0f} other"),
        Line("cost a node-day at 60 s", dollars, "$", "0.02", dollars <= 0.02),
    ]  # fmt: skip
    result.detail["shipping"] = {"sent": sent, "counts": counts, "seconds": took}


# ---- the first picture


def node_day(context: Context) -> pathlib.Path:
    folder = context.scratch / "remote-day"
    hours, steps = (2, 20_000) if context.quick else (24, 200_000)
    command = [context.tool("bench_rules"), "day", str(folder), str(hours), str(steps)]
    subprocess.run(command, check=True, capture_output=True)
    return folder


def depth(stub: s3_stub.Stub) -> int:
    """Requests that waited for each other: they are answered a round trip apart."""
    levels, begin = 0, 0.0
    for at in sorted(asked.at for asked in stub.log):
        if not levels or at - begin >= ROUND_TRIP_S:
            levels, begin = levels + 1, at
    return levels


def picture(context: Context, result: Result) -> None:
    day = node_day(context)
    query = [context.footplate, "query", "--metric", "cpu.util"]
    with served() as stub:
        env = environment(stub, context.scratch / "push")
        subprocess.run([context.footplate, "push", str(day), DEST, "--quiet"], env=env, check=True)
        stub.delay_s = ROUND_TRIP_S
        remote = f"{DEST}/{day.name}"
        cold, depths = [], []
        for i in range(3):
            stub.log.clear()
            cold.append(timed([*query, remote], environment(stub, context.scratch / f"cold{i}"))[0])
            depths.append(depth(stub))
        counts = stub.counts()
        warm = [timed([*query, remote], environment(stub, context.scratch / "cold0"))[0]
                for _ in range(5)]  # fmt: skip
        local = [timed([*query, str(day)], env)[0] for _ in range(5)]
        size = sum(len(v.body) for k, v in stub.objects.items() if "/.footplate/" not in k)
    first, again, here = (statistics.median(x) for x in (cold, warm, local))
    result.lines += [
        Line("first picture of a node-day, cold", first, "s", "1", first <= 1,
             note=f"{size / 1e6:.0f} MB, {counts['list']} LIST and {counts['get']} GET"),
        Line("requests one after the other", float(max(depths)), "", "5", max(depths) <= 5),
        Line("the same, warm", 1000 * again, "ms", peer="local folder", peer_value=1000 * here,
             ratio=again / here, note="one LIST of 30 ms is left"),
    ]  # fmt: skip
    result.detail["picture"] = {"cold_s": cold, "warm_s": warm, "local_s": local}


# ---- ls


def zstd(data: bytes) -> bytes:
    lib = ctypes.CDLL(ctypes.util.find_library("zstd") or "libzstd.so.1")
    for name in ("ZSTD_compressBound", "ZSTD_compress"):
        getattr(lib, name).restype = ctypes.c_size_t
    bound = lib.ZSTD_compressBound(ctypes.c_size_t(len(data)))
    out = ctypes.create_string_buffer(bound)
    n = lib.ZSTD_compress(out, ctypes.c_size_t(bound), data, ctypes.c_size_t(len(data)), 3)
    return out.raw[:n]


def entry_of(template: dict[str, Any], i: int) -> tuple[str, int, bytes]:
    """A run of one of 40 users on one of 400 nodes, with 8 GPUs."""
    name = f"train-{i % 997}-{i:06d}"
    start = 1_760_000_000_000_000_000 + i * 300_000_000_000
    run = template["run"] | {"name": f"train-{i % 997}", "id": f"{i:012x}", "start_ns": start,
                             "user": f"user{i % 40}"}  # fmt: skip
    run["command"] = ["python", "train.py", "--lr", f"{i % 89 / 1000}", "--seed", str(i)]
    gpus = {"name": "NVIDIA H100 80GB HBM3", "driver": "550.54.15", "memory_bytes": 85_520_809_984,
            "uuids": [f"GPU-{uuid.UUID(int=i % 400 * 8 + g)}" for g in range(8)]}  # fmt: skip
    node = template["nodes"][0] | {"host": f"node{i % 400}", "start_ns": start,
                                   "end_ns": start + i % 5000 * 10**9}  # fmt: skip
    node = {k: v for k, v in node.items() if k != "gpu_absent"} | {"gpus_alike": gpus}
    whole = template | {"run": run, "nodes": [node]}
    return name, start, json.dumps(whole, separators=(",", ":")).encode()


def listing(context: Context, result: Result) -> None:
    n = RUNS // 10 if context.quick else RUNS
    runs = context.scratch / "one"
    with served() as stub:
        env = environment(stub, context.scratch / "ls-push")
        subprocess.run([context.footplate, "run", "--quiet", "--dir", str(runs), "--", "true"],
                       env=env, check=True)  # fmt: skip
        subprocess.run([context.footplate, "push", "--quiet", "--dir", str(runs), "last", DEST],
                       env=env, check=True)  # fmt: skip
        day = next(k for k in stub.objects if "/day/" in k)
        template = json.loads(stub.objects[day].body)
        rows = [entry_of(template, i) for i in range(n)]
        text = b"".join(b"%s\t%d\t-\t%s\n" % (a.encode(), b, c) for a, b, c in rows)
        packed = zstd(text)
        stub.put("bucket/runs/.footplate/1/pack/2020-01-01.zst", packed)
        stub.delay_s = ROUND_TRIP_S
        command = [context.footplate, "ls", "--dir", DEST]
        cold = []
        for i in range(3):
            stub.log.clear()
            took, out = timed(command, environment(stub, context.scratch / f"ls{i}"))
            cold.append(took)
            if out.count(b"\n") < n:
                raise RuntimeError("ls did not list all runs")
        counts = stub.counts()
        warm_env = environment(stub, context.scratch / "ls0")
        warm = [timed(command, warm_env)[0] for _ in range(3)]
        newest = [timed([*command, "-n", "20"], warm_env)[0] for _ in range(3)]
    first = statistics.median(cold)
    result.lines += [
        Line(f"ls of {n} runs by the catalogue, cold", first, "s", "2", first <= 2,
             note=f"{counts['list']} LIST, {counts['get']} GET; {len(text) / 1e6:.0f} MB, "
                  f"{len(packed) / 1e6:.1f} MB packed"),
        Line("the same, warm", statistics.median(warm), "s"),
        Line("the newest 20 of them, warm", statistics.median(newest), "s"),
    ]  # fmt: skip
    result.detail["ls"] = {"cold_s": cold, "warm_s": warm, "newest_s": newest}


def run(context: Context, result: Result) -> None:
    listing(context, result)
    picture(context, result)
    shipping(context, result)
    result.notes.append(
        "The server is a Python program on the same machine. A day of requests is extrapolated: "
        "tails from rounds a second apart, twice because of events, and one PUT for each segment."
    )
