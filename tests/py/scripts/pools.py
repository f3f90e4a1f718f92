# SPDX-License-Identifier: Apache-2.0
"""Pools of processes, of both kinds; the start method is the argument."""

import json
import multiprocessing
import sys
from concurrent.futures import ProcessPoolExecutor


def twice(x: int) -> int:
    if x == 3:
        raise ValueError("mine")
    return 2 * x


def main() -> None:
    context = multiprocessing.get_context(sys.argv[1])
    with context.Pool(2) as pool:
        doubled = list(pool.imap(twice, [0, 1, 2]))
        doubled += pool.map(twice, [4, 5], chunksize=1)
        try:
            pool.apply(twice, (3,))
        except ValueError as error:
            doubled.append(str(error))
        pool.close()
        pool.join()
    with ProcessPoolExecutor(2, mp_context=context) as executor:
        doubled += executor.map(twice, [6, 7])
    print(json.dumps({"doubled": doubled}))


if __name__ == "__main__":
    main()
