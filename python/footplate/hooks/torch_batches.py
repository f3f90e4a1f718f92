# SPDX-License-Identifier: Apache-2.0
"""A hash of each batch, by which training health finds those that are the same."""

import zlib

from . import _scalars
from .torch_tensors import is_stored

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

HASHED = 64  # values of a batch
MOST_LOOKED_AT = 8  # things in a batch, on each of two levels
# Elements of so many bytes are gathered as if they were of this type: their bits count.
_WORDS = {2: 2, 4: 0, 8: 1}  # float16, float32, float64 of _core.DTYPES


def hash_of(torch: "Any", batch: "Any") -> "int | None":
    """Of HASHED values of its first tensor, the shape and the type; the same in every process.
    None: it has no tensor, or that is not on the host."""
    tensor = _first_tensor(torch, batch, 2)
    if tensor is None or tensor.device.type != "cpu" or tensor.layout is not torch.strided:
        return None
    if tensor.is_quantized or not tensor.is_contiguous():
        return None
    count, size = tensor.numel(), tensor.element_size()
    if not count or not is_stored(tensor):
        return None
    if size in _WORDS:
        stride = max(count // HASHED, 1)
        where = tensor.data_ptr(), min(count, HASHED), _WORDS[size], stride
        found = zlib.crc32(_scalars.core.health_gather(*where))
    elif size == 1:
        flat = tensor.detach().view(-1)
        found = zlib.crc32(
            bytes(flat[:: max(count // HASHED, 1)][:HASHED].view(torch.uint8).tolist())
        )
    else:
        return None
    return hash((found, size, *tensor.shape))


def _first_tensor(torch: "Any", batch: "Any", levels: int) -> "Any":
    if isinstance(batch, torch.Tensor):
        return batch
    if levels == 0:
        return None
    parts: Any = ()
    if isinstance(batch, tuple | list):
        parts = batch[:MOST_LOOKED_AT]
    elif isinstance(batch, dict):
        parts = list(batch.values())[:MOST_LOOKED_AT]
    for part in parts:
        found = _first_tensor(torch, part, levels - 1)
        if found is not None:
            return found
    return None
