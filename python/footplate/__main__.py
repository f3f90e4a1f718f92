# SPDX-License-Identifier: Apache-2.0
"""`python -m footplate`: runs the program `footplate`."""

import os
import sys
import sysconfig


def find_program() -> "str | None":
    """Beside this Python, in the build tree that this package is in, or on PATH."""
    here = os.path.dirname(os.path.abspath(__file__))
    folders = [
        sysconfig.get_path("scripts"),
        os.path.join(here, "..", "..", "src", "cmd"),
        os.path.join(here, "..", "..", "..", "..", "bin"),
        *os.get_exec_path(),
    ]
    for folder in folders:
        path = os.path.join(folder, "footplate")
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return None


def main() -> int:
    """Becomes the program; returns only when there is none."""
    program = find_program()
    if program is None:
        print(
            "footplate: program not found: install it in this environment or add it to PATH",
            file=sys.stderr,
        )
        return 1
    os.execv(program, ["footplate", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
