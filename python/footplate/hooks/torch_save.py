# SPDX-License-Identifier: Apache-2.0
"""Checkpoints: torch.save, torch.distributed.checkpoint and safetensors. Loading is not marked."""

import os

from .. import _safe
from . import torch_marks as marks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

_MASKS: "dict[str, Any]" = {
    "own": marks.CHECKPOINT,
    "closed_by": marks.CHECKPOINT | marks.DATA | marks.COMPILE,
}


def _before_save(args: "tuple[Any, ...]", kwargs: "dict[str, Any] | None") -> "bool | None":
    """To a file, or a dictionary to anywhere: a checkpoint. Others use torch.save to make bytes of
    small things."""
    given = kwargs or {}
    what = args[0] if args else given.get("obj")
    where = args[1] if len(args) > 1 else given.get("f")
    to_file = isinstance(where, str | os.PathLike) or hasattr(where, "name")
    return None if to_file or isinstance(what, dict) else False


def install(module: "ModuleType") -> None:
    _safe.need_any(module, ("save", "save_state_dict", "save_file"))
    if module.__name__ == "torch.serialization":
        marks.put(module, "save", "checkpoint", _before_save, **_MASKS)
    else:  # torch.distributed.checkpoint.state_dict_saver, safetensors.torch
        for attr in ("save", "async_save", "save_state_dict", "save_file", "save_model"):
            if attr == "save" and module.__name__ == "safetensors.torch":
                continue  # makes bytes
            marks.put(module, attr, "checkpoint", **_MASKS)
