# SPDX-License-Identifier: Apache-2.0
"""torch_waits.py SCENE: waits for a GPU that is played by this script.

The stand-in has what torch_sync.py looks at: tensors with a base class in C's place, streams,
events. A tensor answers after WAIT seconds, one on the device after at least LEAST_S.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
import timeit
from types import ModuleType, SimpleNamespace

from footplate import _core
from footplate.hooks import torch_sync

WAIT = {"s": 0.0}
LEAST_S = 20e-6


class dtype:
    pass


class device:
    def __init__(self, type):
        self.type = type


BOOL, UINT8, FLOAT = dtype(), dtype(), dtype()


class TensorBase:
    def __init__(self, where="cuda", dtype=FLOAT):
        self.where, self._dtype = where, dtype

    is_cuda = property(lambda self: self.where == "cuda")
    dtype = property(lambda self: self._dtype)
    nbytes = property(lambda self: 40)

    def _wait(self, *args, **kwargs):
        until = time.perf_counter() + LEAST_S
        if WAIT["s"]:
            time.sleep(WAIT["s"])
        while self.where == "cuda" and time.perf_counter() < until:
            pass
        return 7

    item = cpu = tolist = numpy = nonzero = masked_select = to = cuda = _wait
    __int__ = __index__ = _wait

    def __bool__(self):
        return bool(self._wait())

    def __float__(self):
        return float(self._wait())

    def __getitem__(self, key):
        return self._wait()


class Tensor(TensorBase):
    pass


class Waiter:
    def synchronize(self):
        time.sleep(WAIT["s"])


def play() -> ModuleType:
    torch = ModuleType("torch")
    torch.Tensor, torch.device, torch.bool, torch.uint8 = Tensor, device, BOOL, UINT8
    torch.nn = SimpleNamespace(Parameter=Tensor)
    torch._C = SimpleNamespace(DisableTorchFunction=None)
    torch.nonzero = lambda x: x._wait()
    torch.masked_select = lambda x, mask: x._wait()
    torch.cuda = SimpleNamespace(synchronize=Waiter().synchronize)
    torch.cuda.Stream, torch.cuda.Event = type("S", (Waiter,), {}), type("E", (Waiter,), {})
    torch_sync.install(torch)
    return torch


torch = play()
x, on_cpu, mask = Tensor(), Tensor("cpu"), Tensor(dtype=BOOL)
PHASES = {name: _core.intern(name) for name in ("forward", "backward")}


def each() -> None:
    """One wait of each kind, on lines of their own."""
    x.item()
    x.cpu()
    x.tolist()
    x.numpy(force=True)
    bool(x)
    int(x)
    float(x)
    [0][:x]
    x.nonzero()
    torch.nonzero(x)
    x.masked_select(mask)
    torch.masked_select(x, mask)
    x[mask]
    x[0, mask]
    x.to("cpu")
    x.to(device("cpu"))
    x.to(on_cpu)
    torch.cuda.synchronize()
    torch.cuda.Stream().synchronize()
    torch.cuda.Event().synchronize()
    on_cpu.to("cuda")
    on_cpu.to(device("cuda"), FLOAT)
    on_cpu.cuda()


def none() -> None:
    """None of these waits, slow as they are."""
    WAIT["s"] = 0.0001
    for t in (on_cpu,):
        t.item(), t.cpu(), t.tolist(), bool(t), float(t), t.nonzero(), torch.nonzero(t)
        t[Tensor("cpu", BOOL)], t.to("cpu"), t.to(FLOAT)
    x[0], x[1:], x[0, 1], x[Tensor()], x.to("cuda"), x.to(FLOAT), x.cuda()
    x.to("cpu", non_blocking=True), x.to("cpu", FLOAT, True)


def copies() -> None:
    on_cpu.to("cuda", non_blocking=True)
    on_cpu.cuda(non_blocking=True)
    on_cpu.to("cuda:1")
    _core.Gate(lambda: on_cpu.to("cuda"), span=PHASES["forward"], own=2)()


def long_and_short() -> None:
    """Three short waits in a forward pass, one short one after it, one long one."""

    def forward() -> None:
        for _ in range(3):
            x.item()

    gate = _core.Gate(forward, span=PHASES["forward"])
    WAIT["s"] = 0.0001
    gate()
    x.item()
    _core.Gate(lambda: None, span=PHASES["backward"])()
    WAIT["s"] = 0.003
    x.item()


def steps() -> None:
    """Between steps."""
    WAIT["s"] = 0.0001
    for i in range(2):
        _core.step_begin(i, 0)
        _core.step_end(i, 0)
        x.item()


def nested() -> None:
    inner = Tensor()
    x._wait = lambda: inner.item()
    bool(x)


def many() -> None:
    for i in range(100):
        exec(compile("\n" * i + "x.item()", "many.py", "exec"), {"x": x})


def raises() -> None:
    class Bad(Tensor):
        def _wait(self):
            raise ValueError("theirs")

    bad = Bad()
    for _ in range(2):
        try:
            bool(bad)
        except ValueError as error:
            assert str(error) == "theirs"
        else:
            raise AssertionError


def threads() -> None:
    workers = [threading.Thread(target=lambda: [x.item() for _ in range(1000)]) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def forks() -> None:
    x.item()
    child = os.fork()
    if child == 0:
        x.item()
        _core.pulse()
        os._exit(0)
    os.waitpid(child, 0)


def cost() -> None:
    """Prints what a call takes, with gates and without, in ns: of a device's tensor, a CPU's."""
    gate = vars(Tensor)["item"]
    best = {}
    for _ in range(20):
        for name, t in (("cuda", x), ("cpu", on_cpu)):
            for kind in ("gate", "plain"):
                Tensor.item = gate if kind == "gate" else gate._footplate_original
                took = timeit.timeit("t.item()", globals={"t": t}, number=2000)
                key = f"{name} {kind}"
                best[key] = min(best.get(key, 1e9), took / 2000 * 1e9)
    print(json.dumps(best))


globals()[sys.argv[1]]()
