# SPDX-License-Identifier: Apache-2.0
"""Whole tensors of chosen steps, as .npz files beside the run (`footplate run --save-tensors`).

config.json says which, in "health": "save": {"tensors": [REGEX...], "steps": [{"start": 100,
"count": 3}], "limit": BYTES, "ranks": [0]}; without "ranks" all ranks. A regex is searched in these
names:

    fc.weight             a parameter before the optimizer changes it
    gradient/fc.weight    its gradient when the optimizer gets it, without the factor of GradScaler
    fc_output_0           the first tensor that a module returns in its first call of the step

Tensors are copied where the program is; on a GPU the copy is asynchronous, as in torch_deferred.py.
A separate thread writes each file into the folder of the rings, from where the recorder takes it.
There is no numpy here: a file is a zip archive of .npy members, which have a short header.

A process saves at most `limit` bytes. What is left out is counted, and the run says so.
"""

import ctypes
import os
import struct
import sys
import threading
import time

from .. import _core, _safe
from . import _scalars
from .torch_modules import is_compiled
from .torch_tensors import local, plain_name, unwrap, wrappers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .torch_tensors import Names

MOST_BYTES = 64 << 20  # unless the recorder says more or less
MOST_IN_FILE = 8 << 20  # bytes; a larger tensor has a separate file
MOST_TENSORS = 10_000  # of a step
HEADER = 256  # bytes of a member beside its values, at most
EXIT_S = 10.0  # that the end of the program may wait for a file
UNSAVED = 4  # a reason of health_lost
KINDS = {
    "weights": r"^(?!gradient/)(?!.*_output_\d+$)(?!.*bias)",
    "biases": r"^(?!gradient/)(?!.*_output_\d+$).*bias",
    "gradients": r"^gradient/",
    "outputs": r"_output_\d+$",
    "layers": r"_output_\d+$",
    "default": "",
    "all": "",
}
# How numpy writes the types of torch; what is not here is stored as float32.
DESCR = {
    "float64": "<f8",
    "float32": "<f4",
    "float16": "<f2",
    "complex64": "<c8",
    "complex128": "<c16",
    "int64": "<i8",
    "int32": "<i4",
    "int16": "<i2",
    "int8": "|i1",
    "uint8": "|u1",
    "uint16": "<u2",
    "uint32": "<u4",
    "uint64": "<u8",
    "bool": "|b1",
}


def _whole(value: "Any", least: int = 0) -> "int | None":
    return value if isinstance(value, int) and value >= least else None


class Request:
    """What is to be saved; `tensors` is empty when nothing is."""

    def __init__(self, value: "Any") -> None:
        given = value if isinstance(value, dict) else {}
        listed = given.get("tensors")
        texts = [str(one) for one in listed] if isinstance(listed, list) else []
        self.tensors = _scalars.regexes([KINDS.get(text, text) for text in texts])
        self.steps: list[tuple[int, int]] = []
        for one in given.get("steps") or ():
            start, count = _whole(one.get("start")), _whole(one.get("count"), 1)
            if start is not None and count is not None:
                self.steps.append((start, start + count))
        limit = _whole(given.get("limit"))
        self.limit = MOST_BYTES if limit is None else limit
        ranks = given.get("ranks")
        self.ranks = set(ranks) if isinstance(ranks, list) else None

    def is_due(self, step: int) -> bool:
        return any(first <= step < end for first, end in self.steps)

    def is_over(self, step: int) -> bool:
        """Whether no step from this one on is meant."""
        return all(end <= step for _, end in self.steps)

    def takes(self, name: str) -> bool:
        return any(one.search(name) for one in self.tensors)


class Saved:
    """A copy of a tensor in memory of the host."""

    __slots__ = ("name", "descr", "shape", "bytes", "copy", "event")

    def __init__(self, name: str, descr: str, copy: "Any", event: "Any") -> None:
        self.name = name
        self.descr = descr
        self.shape = tuple(copy.shape)
        self.bytes = copy.numel() * copy.element_size()
        self.copy = copy
        self.event = event  # of the device; None: it is complete


class File:
    """Tensors of one step that are written together."""

    def __init__(self, step: int, tensors: "list[Saved]") -> None:
        self.step = step
        self.at_ns = _core.now_ns()
        self.tensors = tensors
        self.name = ""  # once it is written
        self.error: Any = None
        self.written = False

    def is_here(self) -> bool:
        return all(one.event is None or one.event.query() for one in self.tensors)


def npy_header(descr: str, shape: "tuple[int, ...]") -> bytes:
    text = f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': {shape!r}, }}"
    room = -(len(text) + 11) % 64
    line = text.encode("latin-1") + b" " * room + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(line)) + line


def write_npz(path: str, tensors: "list[Saved]") -> None:
    import zipfile

    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for one in tensors:
            info = zipfile.ZipInfo(one.name + ".npy")
            info.external_attr = 0o600 << 16
            with archive.open(info, "w", force_zip64=one.bytes >= 1 << 31) as member:
                member.write(npy_header(one.descr, one.shape))
                if one.bytes:
                    kind = ctypes.c_char * one.bytes
                    member.write(memoryview(kind.from_address(one.copy.data_ptr())).cast("B"))


class Saver:
    """For the main thread of one process."""

    def __init__(self, torch: "Any", core: "Any", names: "Names", request: Request) -> None:
        self.torch = torch
        self.core = core
        self.names = names
        self.request = request
        self.left = request.limit
        self.step = -1  # the one that `batch` is of
        self.batch: list[Saved] = []
        self.taken: set[str] = set()  # names in it
        self.unsaved = 0
        self.files: list[File] = []  # under way
        self.made = 0
        self.wanted: dict[int, tuple[Any, list[str]]] = {}  # of the root that runs: names, by id
        self.known: tuple[int, list[tuple[str, Any]]] = (-1, [])
        self.rank: int | None = None

    # ---- which steps ----

    def is_due(self, step: int) -> bool:
        if not self.request.is_due(step):
            return False
        if self.rank is None:
            self.rank = _rank()
        return self.request.ranks is None or self.rank in self.request.ranks

    # ---- outputs of modules ----

    def attach(self, root: "Any", step: int) -> None:
        """A root module is about to run in a step that is due."""
        self.begin(step)
        inner = unwrap(root)
        top = type(inner).__name__
        prefix = f"{top}."
        if next(inner.parameters(), None) is not None:
            prefix = self.names.learn(inner)
        if any(is_compiled(one) for one in wrappers(root)):
            self._report_compiled()
            return
        for name, module in self._modules(inner, ""):
            full = prefix + plain_name(name + ".")[:-1] if name else prefix[:-1] or top
            if self.request.takes(full + "_output_0"):
                self.wanted.setdefault(id(module), (module, []))[1].append(full)

    def _modules(self, module: "Any", name: str) -> "Any":
        if isinstance(module, self.torch.jit.ScriptModule):
            return
        yield name, module
        if is_compiled(module):
            self._report_compiled()
            return
        for key, child in module._modules.items():
            if child is not None:
                yield from self._modules(child, f"{name}.{key}" if name else key)

    def _report_compiled(self) -> None:
        if self.request.takes("_output_0"):
            _safe.report_loss(
                "saved tensors", "outputs of modules inside of torch.compile are not seen"
            )

    def ended(self, module: "Any", output: "Any") -> None:
        """A module of the root has returned."""
        wanted = self.wanted.get(id(module))
        for name in wanted[1] if wanted is not None else ():
            with _safe.guard("saved tensors"):
                self._outputs(name, output)

    def _outputs(self, name: str, output: "Any") -> None:
        if f"{name}_output_0" in self.taken:
            return  # another call of the same step
        parts = list(output.values()) if isinstance(output, dict) else output
        parts = parts if isinstance(parts, tuple | list) else (parts,)
        for i, part in enumerate(parts[:16]):
            if isinstance(part, self.torch.Tensor):
                self.take(f"{name}_output_{i}", part)

    def detach(self) -> None:
        self.wanted = {}

    # ---- parameters and gradients ----

    def parameters(self) -> "list[tuple[str, Any]]":
        """Those of all root modules that were called."""
        if self.known[0] != self.names.version:
            found = [(name, held) for held, name in self.names.of.values()]
            self.known = self.names.version, found
        return self.known[1]

    def before_step(self, optimizer: "Any", step: int, scale: "Any") -> None:
        self.begin(step)
        named = self.parameters()
        of = {}
        for name, held in named:
            parameter = held()
            if parameter is not None:
                of[id(parameter)] = name
                self.take(name, parameter)
        at = 0
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                name = of.get(id(parameter), f"parameter.{at}")
                at += 1
                if id(parameter) not in of:
                    self.take(name, parameter)
                if parameter.grad is not None:
                    self.take(f"gradient/{name}", parameter.grad, scale)

    # ---- copies ----

    def begin(self, step: int) -> None:
        if step != self.step:
            self.end()
            self.step, self.taken = step, set()

    def take(self, name: str, tensor: "Any", scale: "Any" = None) -> None:
        if name in self.taken or not self.request.takes(name):
            return
        self.taken.add(name)
        try:
            with self.torch.no_grad():
                self._copy(name, local(tensor).detach(), scale)
        except Exception as error:
            self._leave_out(f"{name}: {error}")

    def _copy(self, name: str, tensor: "Any", scale: "Any") -> None:
        torch = self.torch
        device = tensor.device.type
        if device not in ("cpu", "cuda") or tensor.layout is not torch.strided:
            layout = str(tensor.layout).replace("torch.", "")
            self._leave_out(f"{name} is on the device {device} with the layout {layout}")
            return
        if tensor.is_quantized:
            self._leave_out(f"{name} is quantized")
            return
        kind = str(tensor.dtype).replace("torch.", "")
        size = tensor.element_size() if kind in DESCR else 4
        bytes_ = tensor.numel() * size + HEADER
        if bytes_ > self.left or len(self.batch) == MOST_TENSORS:
            self._leave_out(f"the limit of {self.request.limit} bytes of a process is reached")
            return
        self.left -= bytes_
        wanted = tensor if kind in DESCR else tensor.float()
        if scale is not None:
            by = scale.reshape(()) if isinstance(scale, torch.Tensor) else scale
            wanted = (wanted / by).to(wanted.dtype)
        event = None
        if device == "cuda":
            copy = torch.empty(wanted.shape, dtype=wanted.dtype, pin_memory=True, device="cpu")
            copy.copy_(wanted, non_blocking=True)
            event = torch.cuda.Event()
            event.record(torch.cuda.current_stream(tensor.device))
        else:
            copy = torch.empty(wanted.shape, dtype=wanted.dtype, device="cpu")
            copy.copy_(wanted)
        self.batch.append(Saved(name, DESCR.get(kind, "<f4"), copy, event))

    def _leave_out(self, why: str) -> None:
        self.unsaved += 1
        _safe.report_loss("saved tensors", why)

    # ---- files ----

    def end(self) -> None:
        """All tensors of the step are there."""
        batch, self.batch = self.batch, []
        part: list[Saved] = []
        size = 0
        for one in batch:
            if part and size + one.bytes > MOST_IN_FILE:
                self.files.append(File(self.step, part))
                part, size = [], 0
            part.append(one)
            size += one.bytes
        if part:
            self.files.append(File(self.step, part))
        self._report_unsaved()

    def _report_unsaved(self) -> None:
        if self.unsaved:
            self.core.health_lost(self.unsaved, UNSAVED)
            self.unsaved = 0

    def poll(self, ends: bool = False) -> None:
        """After a step: what has arrived is written, what is written is reported. `ends`: the
        program ends, and may start no thread any more."""
        busy = []
        for file in self.files:
            if not file.name and file.is_here():
                self._start(file, ends)
            if file.written:
                self._record(file)
            else:
                busy.append(file)
        self.files = busy
        self._report_unsaved()

    def _start(self, file: File, ends: bool) -> None:
        rank = self.rank or 0
        file.name = f"tensors-{rank}-{file.step}-{os.getpid()}-{self.made}.npz"
        self.made += 1
        if ends:
            _write(file)
        else:
            threading.Thread(
                target=_write, args=(file,), name="footplate-save", daemon=True
            ).start()

    def _record(self, file: File) -> None:
        if file.error is not None:
            self.unsaved += len(file.tensors)
            _safe.report_loss("saved tensors", file.error)
            return
        at = _scalars.STATISTICS.get("saved.bytes")
        if at is None:
            return
        self.core.health_begin(file.step, _core.TRAIN, max(_core.now_ns() - file.at_ns, 0))
        for one in file.tensors:
            self.core.health_value(at, self.core.health_name(one.name), float(one.bytes))

    def finish(self) -> None:
        """At the program's end: waits for what is under way, but not for long."""
        self.detach()
        self.end()
        until = _core.now_ns() + int(EXIT_S * 1e9)
        self.poll(ends=True)
        while self.files and _core.now_ns() < until:
            time.sleep(0.001)
            self.poll(ends=True)
        for file in self.files:
            self.unsaved += len(file.tensors)
            _safe.report_loss("saved tensors", "the program ended before they were written")
        self._report_unsaved()


def _rank() -> int:
    distributed = sys.modules.get("torch.distributed")
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return int(distributed.get_rank())
    from .._start import ranks

    return ranks()[0] or 0


def _write(file: File) -> None:
    """In a separate thread. The file is written whole or not at all."""
    name = file.name
    try:
        folder = _safe.ring_folder()
        if not folder:
            raise OSError("the recorder's folder is gone")
        hidden = os.path.join(folder, "." + name)
        try:
            os.close(os.open(hidden, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
            write_npz(hidden, file.tensors)
            os.rename(hidden, os.path.join(folder, name))
        except BaseException:
            if os.path.exists(hidden):
                os.unlink(hidden)
            raise
    except Exception as error:
        file.error = error
    for one in file.tensors:
        one.copy = None
    file.written = True


def make(torch: "Any", core: "Any", names: "Names", value: "Any") -> "Saver | None":
    """None: nothing is to be saved."""
    with _safe.guard("saved tensors"):
        wanted = Request(value)
        return Saver(torch, core, names, wanted) if wanted.tensors and wanted.steps else None
    return None
