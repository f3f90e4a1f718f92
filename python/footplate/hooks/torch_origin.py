# SPDX-License-Identifier: Apache-2.0
"""Where the first number that is not finite came from.

backward: the loss is finite, some gradients are not. Gradients of the layers between the loss and
the culprit are finite, those of the layers before it are not: the border names it ("0..3").
Clipping by the norm makes all of them bad, so they are looked at before it; when that found
nothing, and all are bad after it, the origin is not known.

forward, on a CPU: the loss is not finite, and the graph is still there. The tensors that its nodes
have saved for the backward pass are looked at, from the loss on: the culprit is a node whose input
is finite while that of its consumer is not. Only in the step that failed.

forward, in a sampled step: the first module in the order of calls whose output is not finite.

A module is only named while the weights are finite: two steps later everything is NaN.
"""

import collections

from .. import _core, _safe
from .torch_tensors import Names, Sample, local, measure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .torch_modules import Watch

MOST_NODES = 2000
MOST_NS = 1_000_000_000
MOST_RECORDED = 3
# Nodes whose result is only not finite when their input is.
PASSING = ("ReluBackward0", "TanhBackward0", "SigmoidBackward0", "LogSoftmaxBackward0")
RESULTS = ("_saved_result", "_saved_output", "_saved_grid")


class Origin:
    """Finds it, once; again when the numbers were finite in between."""

    def __init__(self, torch: "Any", core: "Any", names: Names, watch: "Watch") -> None:
        self.torch = torch
        self.core = core
        self.names = names
        self.watch = watch
        self.codes = watch.codes
        self.recorded = 0
        self.waiting: str | None = None  # a place that was found before its step was known
        self.over = False  # reported, and no step was finite since

    def _record(self, kind: str, module: str, step: int) -> None:
        if self.recorded >= MOST_RECORDED or self.over:
            return
        self.recorded += 1
        self.over = True
        self.core.health_begin(step, _core.TRAIN, 0)
        self.core.health_count(0, self.core.health_name(f"nonfinite.origin/{kind}/{module}"), 1)

    def settle(self, step: int) -> None:
        """What the walk has found belongs to this step."""
        if self.waiting is not None:
            kind, _, module = self.waiting.partition("/")
            self.waiting = None
            self._record(kind, module, step)

    def _is_bad(self, tensor: "Any") -> bool:
        tensor = local(tensor).detach()
        if tensor.device.type != "cpu" or tensor.dtype not in self.codes:
            return False
        found = measure(self, tensor)
        return found is not None and found[6] > 0

    # ---- gradients ----

    def border(self, named: "list[tuple[str, Any]]", step: int, clipped: bool) -> bool:
        """Of the parameters' gradients that are finite and those that are not. Whether there are
        such."""
        if self.over or self.recorded >= MOST_RECORDED:
            return False
        bad: dict[str, bool] = {}
        for name, parameter in named:
            gradient = parameter.grad
            if gradient is None:
                continue
            module = name.rpartition(".")[0]
            bad[module] = bad.get(module, False) or self._is_bad(gradient)
        if not any(bad.values()):
            return False
        if not any(self._is_bad(parameter) for _, parameter in named):  # else it arose earlier
            self._record("backward", self._between(bad, clipped), step)
        return True

    def resolved(self, sample: Sample, optimizers: "Any") -> None:
        """The same, of numbers that have come from a device."""
        at = sample.ids.get("gradient.nonfinite", -1)
        numbers = set(sample.counts[at][0]) if at in sample.counts else set()
        weights = sample.ids.get("weight.nonfinite", -1)
        if sample.bad_modules or weights in sample.counts:
            return
        norms = sample.reals.get(sample.ids.get("gradient.l2", -1), ([], []))[0]
        there = set(norms)  # have gradients
        bad: dict[str, bool] = {}
        for known in optimizers:
            for entry in known.table.entries if known.table is not None else ():
                if there and entry.number not in there:
                    continue
                module = entry.name.rpartition(".")[0]
                bad[module] = bad.get(module, False) or entry.number in numbers
        self._record("backward", self._between(bad, sample.clipped), sample.step)

    def _between(self, bad: "dict[str, bool]", clipped: bool) -> str:
        if clipped and all(bad.values()):
            return ""
        order = [leaf.name for leaf in self.watch.order if leaf.name in bad]
        order += [name for name in bad if name not in order]
        last = max((i for i, name in enumerate(order) if bad[name]), default=-1)
        if last < 0:
            return ""
        if last + 1 < len(order):
            return f"{order[last]}..{order[last + 1]}"
        return order[last]

    # ---- outputs ----

    def of_modules(self, sample: Sample) -> None:
        """The first output that is not finite, of a module whose own weights are."""
        if not sample.bad_modules or self.over:
            return
        name = sample.bad_modules[0]
        leaf = next((one for one in self.watch.order if one.name == name), None)
        module = leaf.module() if leaf is not None else None
        if module is not None:
            for parameter in module.parameters(recurse=False):
                if self._is_bad(parameter):
                    return
        self.waiting = None
        self._record("forward", name, sample.step)

    # ---- the graph ----

    def walk(self, loss: "Any") -> None:
        """The graph below a loss that is not finite."""
        if self.over or self.recorded >= MOST_RECORDED:
            return
        self.waiting = "loss/"
        with _safe.guard("health origin"):
            found = self._walk(loss.grad_fn)
            if found is not None:
                self.waiting = found

    def _walk(self, first: "Any") -> "str | None":
        """KIND/MODULE; None: not found, or the weights are not finite."""
        if first is None:
            return None
        until = _core.now_ns() + MOST_NS
        queue, seen, bad = collections.deque([first]), {first}, []
        while queue and len(seen) < MOST_NODES and _core.now_ns() < until:
            node = queue.popleft()
            which = self._bad_saved(node)
            if which:
                bad.append((node, which))
            for following, _ in node.next_functions:
                if following is not None and following not in seen:
                    seen.add(following)
                    queue.append(following)
        for node in seen:
            variable = getattr(node, "variable", None)
            if variable is not None and self._is_bad(variable):
                return "forward/"
        culprit = self._culprit({node for node, _ in bad}, dict(bad))
        return None if culprit is None else "forward/" + self._module_of(culprit, first)

    def _bad_saved(self, node: "Any") -> str:
        """The name of a saved tensor that is not finite."""
        found = ""
        for name in dir(node):
            if not name.startswith("_saved_"):
                continue
            try:
                saved = getattr(node, name)
            except Exception:
                continue  # freed, or packed by a hook that cannot unpack it now
            if isinstance(saved, self.torch.Tensor) and self._is_bad(saved):
                found = name
                if name not in RESULTS:
                    break  # an input of it already
        return found

    def _culprit(self, bad: "set[Any]", which: "dict[Any, str]") -> "Any":
        """Of the nodes that have such a tensor, one above which no other has: the node itself when
        it is the result, else the node that made the input."""
        for node in bad:
            above = [one for one, _ in node.next_functions if one is not None]
            if self._reaches(above, bad):
                continue
            if which[node] in RESULTS and node.name() not in PASSING:
                return node
            makers = [one for one in above if getattr(one, "variable", None) is None]
            return makers[0] if makers else node
        return None

    def _reaches(self, nodes: "list[Any]", bad: "set[Any]") -> bool:
        queue, seen = collections.deque(nodes), set(nodes)
        while queue and len(seen) < MOST_NODES:
            node = queue.popleft()
            if node in bad:
                return True
            for following, _ in node.next_functions:
                if following is not None and following not in seen:
                    seen.add(following)
                    queue.append(following)
        return False

    def _module_of(self, culprit: "Any", first: "Any") -> str:
        """The module that the node belongs to, by the parameters around it and the order in which
        modules are called; "A..B" when several could be it."""
        below = self._modules_near([culprit])
        own = self._direct(culprit)
        if own:
            return own
        above = self._consumers(culprit, first)
        order = self.watch.order
        places = {leaf.name: i for i, leaf in enumerate(order)}
        low = max((places[name] for name in below if name in places), default=-1)
        high = min((places[n] for n in above if places.get(n, -1) > low), default=len(order))
        passed = self._nodes_below(culprit)
        between = [
            leaf for leaf in order[low + 1 : high] if not leaf.node or leaf.node not in passed
        ]
        if len(between) == 1:
            return between[0].name
        begin = order[low].name if 0 <= low < len(order) else ""
        end = order[high].name if high < len(order) else "loss"
        return f"{begin}..{end}"

    def _direct(self, node: "Any") -> str:
        """The module of the parameters that go into the node itself."""
        for following, _ in node.next_functions:
            for name in self._names_of(following):
                return name
        return ""

    def _names_of(self, node: "Any") -> "list[str]":
        variable = getattr(node, "variable", None)
        name = self.names.name_of(variable) if variable is not None else None
        if name is None and node is not None and node.name() == "TBackward0":
            return [found for one, _ in node.next_functions for found in self._names_of(one)]
        return [name.rpartition(".")[0]] if name is not None else []

    def _modules_near(self, nodes: "list[Any]") -> "set[str]":
        """Of the parameters that the nodes, or those above them, use."""
        found: set[str] = set()
        queue, seen = collections.deque(nodes), set(nodes)
        while queue and len(seen) < MOST_NODES:
            node = queue.popleft()
            found.update(self._names_of(node))
            for following, _ in node.next_functions:
                if following is not None and following not in seen:
                    seen.add(following)
                    queue.append(following)
        return found

    def _consumers(self, culprit: "Any", first: "Any") -> "set[str]":
        """Modules between the node and the loss."""
        before = self._modules_near([culprit])
        return self._modules_near([first]) - before

    def _nodes_below(self, culprit: "Any") -> "set[str]":
        """Names of the nodes right above the culprit, up to the first with a parameter."""
        found: set[str] = set()
        node = culprit
        for _ in range(64):
            makers = [one for one, _ in node.next_functions if one is not None]
            makers = [one for one in makers if getattr(one, "variable", None) is None]
            if not makers:
                break
            node = makers[0]
            found.add(node.name())
            if self._direct(node):
                break
        return found
