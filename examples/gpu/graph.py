#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The whole step is one CUDA graph: the loop fetches a batch, copies it and replays."""

from collections.abc import Callable

import common
import torch


def step_of(
    job: common.Job, optimizer: torch.optim.Optimizer, inputs: list[torch.Tensor]
) -> torch.Tensor:
    """One step on the inputs, which stay at their place."""
    with torch.autocast(job.device.type, torch.bfloat16, cache_enabled=False):
        loss = job.model(*inputs)
    loss.backward()
    optimizer.step()
    return loss.detach()


def capture(
    job: common.Job, optimizer: torch.optim.Optimizer, inputs: list[torch.Tensor]
) -> tuple[Callable[[], None], torch.Tensor]:
    """A function that does the step again, and where it leaves the loss."""
    beside = torch.cuda.Stream()
    beside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(beside):
        for _ in range(3):
            optimizer.zero_grad()
            step_of(job, optimizer, inputs)
    torch.cuda.current_stream().wait_stream(beside)
    optimizer.zero_grad()  # the graph's own memory holds the gradients
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step_of(job, optimizer, inputs)
    return graph.replay, loss


def without_graph(
    job: common.Job, optimizer: torch.optim.Optimizer, inputs: list[torch.Tensor]
) -> tuple[Callable[[], None], torch.Tensor]:
    """The same on a CPU."""
    loss = torch.zeros(())

    def replay() -> None:
        optimizer.zero_grad()
        loss.copy_(step_of(job, optimizer, inputs))

    return replay, loss


def main() -> None:
    args = common.parser(__doc__, batch=4).parse_args()
    job = common.prepare(args)
    optimizer = job.adamw(fused=True, capturable=job.cuda is not None)
    shape = (job.size.batch, job.size.tokens)
    inputs = [torch.zeros(shape, dtype=torch.long, device=job.device) for _ in range(2)]
    make = capture if job.cuda else without_graph
    replay, loss = make(job, optimizer, inputs)
    meter = job.meter("graph", cause=None)
    meter.notes["steps_before"] = 4 if job.cuda else 0  # three to warm up, one to capture
    for number, batch in enumerate(meter.steps(job.loader(workers=args.workers))):
        for place, part in zip(inputs, batch, strict=True):
            place.copy_(part, non_blocking=True)
        with meter.phase("replay"):
            replay()
        if number % 100 == 0:
            print(f"step {number}: loss {loss.item():.3f}", flush=True)
    meter.write()


if __name__ == "__main__":
    main()
