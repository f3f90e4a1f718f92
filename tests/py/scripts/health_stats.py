# SPDX-License-Identifier: Apache-2.0
"""health_stats against sums of plain Python, for every type and odd lengths; prints a NaN."""

import math
import random
import struct

from footplate import _core

random.seed(5)
CODES = {"float32": "f", "float64": "d", "float16": "e"}


def address(data: bytearray) -> int:
    import ctypes

    return ctypes.addressof(ctypes.c_char.from_buffer(data))


def check(dtype: str, values: "list[float]", stride: int) -> None:
    code = CODES[dtype]
    data = bytearray(struct.pack(f"<{len(values)}{code}", *values))
    seen = list(struct.unpack(f"<{len(values)}{code}", data))[::stride]
    found = _core.health_stats(address(data), len(seen), _core.DTYPES[dtype], stride)
    good = [v for v in seen if math.isfinite(v)]
    wanted = (
        math.fsum(good),
        math.fsum(map(abs, good)),
        math.sqrt(math.fsum(v * v for v in good)),
        min(good, default=math.nan),
        max(good, default=math.nan),
        seen.count(0.0),
        len(seen) - len(good),
    )
    for a, b in zip(found, wanted, strict=True):
        same = math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9) or (math.isnan(a) and math.isnan(b))
        assert same, (dtype, len(values), stride, found, wanted)
    words = {"f": "I", "d": "Q", "e": "H"}[code]
    size = struct.calcsize(code)
    total = sum(struct.unpack(f"<{len(values)}{words}", data)) % 2**64
    assert _core.health_word_sum(address(data), len(values), size) % 2**64 == total
    assert sum(
        _core.health_exponents(address(data), len(seen), _core.DTYPES[dtype], stride)
    ) == len(seen)
    before = _core.health_gather(address(data), len(seen), _core.DTYPES[dtype], stride)
    assert _core.health_update(address(data), len(seen), _core.DTYPES[dtype], stride, before)[
        2
    ] == len(seen)


for dtype in CODES:
    for n in (1, 2, 7, 8, 9, 63, 4095, 4096, 4097, 5000):
        values = [random.gauss(0, 1) for _ in range(n)]
        check(dtype, values, 1)
        check(dtype, values, 3)
        values[n // 2] = math.nan
        values[-1] = -math.inf
        values[0] = 0.0
        check(dtype, values, 1)
    check(dtype, [math.inf] * 9, 1)
check("float16", [6e-8, -3e-7, 65504.0, 1.0], 1)  # with subnormals
empty = _core.health_stats(0, 5, 0)
assert empty[:3] == (0.0, 0.0, 0.0) and math.isnan(empty[3]) and empty[5:] == (0, 0)
bf16 = bytearray(struct.pack("<3H", 0x3F80, 0xC000, 0x7F80))  # 1, -2, inf
assert _core.health_stats(address(bf16), 3, _core.DTYPES["bfloat16"])[:5] == (-1, 3, 5**0.5, -2, 1)
print(_core.health_stats(0, 0, 0)[3])
