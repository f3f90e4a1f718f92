# SPDX-License-Identifier: Apache-2.0
"""torch_sync_compiles.py HOW: compiles functions that wait for the GPU; prints graphs and breaks.

HOW: plain, gates (those of torch_sync.py are in place), late (they come after the compiler has made
its tables).
"""

from __future__ import annotations

import contextlib
import io
import logging
import pickle
import sys
import warnings

import torch
import torch._dynamo
from torch._dynamo.utils import counters

warnings.simplefilter("ignore")
logging.disable(logging.WARNING)
KEPT = ("stats", "graph_break", "unimplemented", "frames")


def item(x):
    return x.sum().item() + 1


def branch(x):
    return x + 1 if x.sum() > 0 else x - 1


def numbers(x):
    return x[0] + float(x[1, 0]) + int(x[0, 0])


def masks(x):
    return x[x > 0].sum() + torch.masked_select(x, x > 0).sum() + x.masked_select(x < 1).sum()


def nonzero(x):
    return torch.nonzero(x).sum() + x.nonzero().sum()


def copies(x):
    return x.to("cpu").to(torch.float64).cpu() * 2


def views(x):
    return x[1:, None] * x[..., 0] + x[-1]


def lists(x):
    return x.sum().tolist(), x.numpy().sum()


def iterates(x):
    for row in x:
        x = x + row
    return x


def scripted(x: torch.Tensor):
    return torch.nonzero(x).sum() + x[x > 0].sum() + torch.masked_select(x, x > 0).sum()


FUNCTIONS = (item, branch, numbers, masks, nonzero, copies, views, lists, iterates)
X = torch.ones(3, 3)


def compiled(function, backend: str, whole: bool) -> str:
    torch._dynamo.reset()
    counters.clear()
    try:
        call = torch.compile(function, backend=backend, fullgraph=whole)
        results = [str(call(x)) for x in (X, X, -X)]
    except Exception as error:
        results = [f"{type(error).__name__}: {str(error).splitlines()[0]}"]
    counts = {k: dict(v) for k, v in sorted(counters.items()) if k in KEPT}
    return f"{function.__name__} {backend} {whole} {results} {counts}"


def explained(function) -> str:
    torch._dynamo.reset()
    about = torch._dynamo.explain(function)(X)
    reasons = [str(one.reason).splitlines()[0] for one in about.break_reasons]
    return f"{function.__name__} {about.graph_count} {about.graph_break_count} {reasons}"


class Logs(torch.Tensor):
    """Prints each function of torch that is called with it."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        print("called:", getattr(func, "__name__", func))
        return super().__torch_function__(func, types, args, kwargs or {})


class Mode(torch.overrides.TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        print("mode:", getattr(func, "__name__", func))
        return func(*args, **(kwargs or {}))


def everything() -> None:
    for function in FUNCTIONS:
        print(explained(function))
        for backend in ("eager", "aot_eager"):
            for whole in (False, True):
                print(compiled(function, backend, whole))
    print(torch.jit.script(scripted).graph)
    print(torch.fx.symbolic_trace(lambda x: torch.nonzero(x) + x[x > 0] + x.to("cpu")).graph)
    mine = torch.ones(2).as_subclass(Logs)
    mine.sum().item(), mine[0], mine.to(torch.float64), mine.cpu(), bool(mine[0])
    with Mode():
        X.sum().item(), X[X > 0], X.to("cpu")
    assert pickle.loads(pickle.dumps(torch.nonzero)) == torch.nonzero
    assert torch.Tensor.item is torch._C.TensorBase.item
    print(torch.overrides.resolve_name(torch.nonzero), torch.Tensor.__getitem__)


def install() -> None:
    from footplate.hooks import _waits, torch_sync

    torch_sync.install(torch)
    assert _waits.is_gate(vars(torch.Tensor)["item"]) and _waits.is_gate(torch.nonzero)


how = sys.argv[1]
if how == "gates":
    install()
if how == "late":
    with contextlib.redirect_stdout(io.StringIO()):
        everything()
    install()
everything()
