# SPDX-License-Identifier: Apache-2.0
"""A terminal with a program on it, for tests of what a user at the keyboard does."""

from __future__ import annotations

import os
import pty
import select
import time
from contextlib import suppress
from pathlib import Path


class Terminal:
    """A program on a terminal of its own, as a user at the keyboard has it."""

    def __init__(self, words: list[str], env: dict[str, str], folder: Path):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execvpe(words[0], words, env)
        self.seen = ""

    def type(self, text: str) -> None:
        os.write(self.fd, text.encode())

    def read(self, wait_s: float = 0.05) -> None:
        if select.select([self.fd], [], [], wait_s)[0]:
            with suppress(OSError):  # the other end is gone
                self.seen += os.read(self.fd, 65536).decode(errors="replace")

    def expect(self, word: str, timeout_s: float = 20) -> None:
        """Reads until the word has come; what was read up to there is forgotten."""
        until = time.monotonic() + timeout_s
        while word not in self.seen:
            assert time.monotonic() < until, f"no {word!r} in {self.seen!r}"
            self.read()
        self.seen = self.seen.split(word, 1)[1]

    def end(self, timeout_s: float = 20) -> int:
        until = time.monotonic() + timeout_s
        while True:
            self.read(0.02)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                return os.waitstatus_to_exitcode(status)
            assert time.monotonic() < until, f"still running; it said {self.seen!r}"
