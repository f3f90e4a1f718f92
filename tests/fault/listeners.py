# SPDX-License-Identifier: Apache-2.0
"""Real listeners on loopback for actions to talk to: HTTP, SMTP, and one that never answers."""

from __future__ import annotations

import base64
import contextlib
import json
import socket
import socketserver
import ssl
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class Hook:
    """A webhook: what was posted to it, and what it answers."""

    def __init__(self) -> None:
        self.posts: list[dict] = []
        self.paths: list[str] = []
        self.heads: list[dict[str, str]] = []
        self.status = 200
        self.port = 0


@contextlib.contextmanager
def webhook(certificate: Path | None = None) -> Iterator[Hook]:
    hook = Hook()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            hook.paths.append(self.path)
            hook.heads.append(dict(self.headers))
            hook.posts.append(json.loads(body))
            self.send_response(hook.status)
            self.end_headers()
            self.wfile.write(b"ok")

        def log_message(self, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        with_tls(server, certificate)
        hook.port = server.server_address[1]
        with served(server):
            yield hook


@contextlib.contextmanager
def served(server: socketserver.BaseServer) -> Iterator[None]:
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()


class Mailbox:
    """A mail server: what it was told, and the mails it took."""

    def __init__(self) -> None:
        self.commands: list[str] = []
        self.mails: list[str] = []
        self.logins: list[tuple[str, str]] = []
        self.auth = ""  # what it offers: "PLAIN", "LOGIN"
        self.refuses = ""  # the verb that it answers with 550
        self.port = 0


def decoded(text: str) -> str:
    return base64.b64decode(text).decode()


def in_tls(plain: socket.socket, certificate: Path) -> ssl.SSLSocket:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context.wrap_socket(plain, server_side=True)


def with_tls(server: socketserver.TCPServer, certificate: Path | None) -> None:
    if certificate:
        server.socket = in_tls(server.socket, certificate)


@contextlib.contextmanager
def mail_server(certificate: Path | None = None, later: bool = False) -> Iterator[Mailbox]:
    """With a certificate all is in TLS, or `later`, from STARTTLS on, and no login before it."""
    box = Mailbox()

    class Handler(socketserver.StreamRequestHandler):
        def say(self, text: str) -> None:
            self.wfile.write(text.encode() + b"\r\n")

        def hear(self) -> str:
            return self.rfile.readline().decode().rstrip("\r\n")

        def handle(self) -> None:
            self.say("220-welcome\r\n220 test")
            while line := self.hear():
                box.commands.append(line)
                verb = line.split()[0].upper()
                if verb == box.refuses:
                    self.say("550 no")
                elif verb == "QUIT":
                    self.say("221 bye")
                    return
                else:
                    getattr(self, f"on_{verb.lower()}", self.on_other)(line)

        def on_other(self, line: str) -> None:
            self.say("250 fine")

        def on_ehlo(self, line: str) -> None:
            plain = later and not isinstance(self.request, ssl.SSLSocket)
            offers = ["STARTTLS"] if plain else [f"AUTH {box.auth}"] if box.auth else []
            for offer in ("test", *offers):
                self.say(f"250-{offer}")
            self.say("250 8BITMIME")

        def on_starttls(self, line: str) -> None:
            assert certificate
            self.say("220 go ahead")
            self.request = in_tls(self.request, certificate)
            self.setup()

        def on_auth(self, line: str) -> None:
            words = line.split()
            if words[1] == "PLAIN":
                if len(words) < 3:
                    self.say("334 ")
                    words.append(self.hear())
                _, user, password = decoded(words[2]).split("\0")
            else:
                self.say("334 VXNlcm5hbWU6")
                user = decoded(self.hear())
                self.say("334 UGFzc3dvcmQ6")
                password = decoded(self.hear())
            box.logins.append((user, password))
            self.say("235 welcome")

        def on_data(self, line: str) -> None:
            self.say("354 go on")
            lines = []
            while (text := self.hear()) != ".":
                lines.append(text)
            box.mails.append("\n".join(lines))
            self.say("250 taken")

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        with_tls(server, None if later else certificate)
        box.port = server.server_address[1]
        with served(server):
            yield box


@contextlib.contextmanager
def silent() -> Iterator[int]:
    """A port that takes connections and never says a word."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        s.listen(16)
        yield s.getsockname()[1]


def dead_port() -> int:
    """One that nobody listens at."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]
