# SPDX-License-Identifier: Apache-2.0
"""A job that logs scalars from another thread while the hooks record those of a step."""

import threading

import footplate
from footplate import _core

_core.health_begin(5, _core.TRAIN)
thread = threading.Thread(target=footplate.log, args=("other", 9.0), kwargs={"step": 9})
thread.start()
thread.join()
_core.health_value(0, _core.health_name("own"), 5.0)
_core.health_flush()
