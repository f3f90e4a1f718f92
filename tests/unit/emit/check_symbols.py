#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_symbols.py STATIC SHARED - what goes into the job may ask libc for no more than this list.

Nothing of the list allocates, waits for another thread, prints, or ends the program. And the shared
library shows nothing but fp_ names.
"""

from __future__ import annotations

import re
import subprocess
import sys

WORDS = """
    bcmp memcmp memcpy memmove memset memrchr strcmp strlen strnlen
    open open64 close read pwrite pwrite64 unlink ftruncate ftruncate64 fallocate fallocate64 stat
    fstat fstat64 lstat lstat64
    mmap mmap64 munmap madvise getpid getrandom getrlimit getrlimit64 kill prctl syscall
    clock_gettime secure_getenv sigfillset pthread_sigmask pthread_setcancelstate
    pthread_key_create pthread_key_delete pthread_setspecific pthread_atfork
    __errno_location __stack_chk_fail __memcpy_chk __read_chk
    _GLOBAL_OFFSET_TABLE_
"""
ALLOWED = set(WORDS.split())
TOOLS = re.compile(r"__(asan|ubsan|tsan|sanitizer|gcov|sancov|llvm)_|^__(start|stop)___sancov")
OURS = re.compile(r"^(fp|ring)_")


def symbols(*arguments: str) -> set[str]:
    out = subprocess.run(["nm", *arguments], check=True, capture_output=True, text=True).stdout
    lines = [line.split() for line in out.splitlines()]
    return {words[-1].partition("@")[0] for words in lines if len(words) >= 2}


def main() -> int:
    static, shared = sys.argv[1:]
    wanted = symbols("--undefined-only", static)
    if "mmap" not in {name.removesuffix("64") for name in wanted}:
        print(f"{static}: does not look like the library")
        return 1
    bad = sorted(n for n in wanted - ALLOWED if not TOOLS.search(n) and not OURS.match(n))
    for name in bad:
        print(f"{static}: uses {name}, which is not on the list")
    exported = symbols("-D", "--defined-only", shared)
    shown = sorted(n for n in exported if not n.startswith("fp_") and not TOOLS.search(n))
    for name in shown:
        print(f"{shared}: shows {name}")
    return 1 if bad or shown else 0


if __name__ == "__main__":
    sys.exit(main())
