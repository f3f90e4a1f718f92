# SPDX-License-Identifier: Apache-2.0
"""OpenStack Swift with its S3 API, as four processes on 127.0.0.1, all files below one folder.

It checks signatures, the hash of each body and the clock, and has no conditional writes.
"""

from __future__ import annotations

import getpass
import http.client
import os
import shutil
import socket
import subprocess
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

SERVERS = ("account", "container", "object", "proxy")
START_S = 60

RINGS = """
import sys
from swift.common.ring import RingBuilder
folder = sys.argv[1]
for name, port in zip(("account", "container", "object"), map(int, sys.argv[2:])):
    b = RingBuilder(4, 1, 1)
    b.add_dev({"id": 0, "region": 1, "zone": 1, "ip": "127.0.0.1", "port": port, "device": "sdb1",
               "weight": 1, "replication_ip": "127.0.0.1", "replication_port": port, "meta": ""})
    b.rebalance()
    b.get_ring().save(f"{folder}/{name}.ring.gz")
"""

PROXY = """
[pipeline:main]
pipeline = catch_errors gatekeeper healthcheck cache listing_formats s3api tempauth bulk slo
    proxy-server
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
allow_account_management = true
# On a busy machine half a second is too short, and each storage server is the only one.
conn_timeout = 20
node_timeout = 60
error_suppression_limit = 1000000
[filter:cache]
use = egg:swift#memcache
memcache_servers = 127.0.0.1:1
[filter:s3api]
use = egg:swift#s3api
s3_acl = false
location = us-east-1
min_segment_size = 1
[filter:tempauth]
use = egg:swift#tempauth
user_test_tester = testing .admin
"""


def missing() -> str | None:
    """Why it cannot run here; None: it can."""
    for name in SERVERS:
        if not shutil.which(f"swift-{name}-server"):
            return f"swift-{name}-server is not installed (Debian: swift-{name})"
    return None


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


class Swift:
    """KEY and SECRET open it; `url` is its endpoint."""

    KEY, SECRET, REGION = "test:tester", "testing", "us-east-1"

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.processes: list[subprocess.Popen[bytes]] = []
        ports = {name: free_port() for name in SERVERS}
        self.url = f"http://127.0.0.1:{ports['proxy']}"
        etc = folder / "etc"
        etc.mkdir(parents=True)
        (folder / "srv/node/sdb1").mkdir(parents=True)
        (etc / "swift.conf").write_text(
            "[swift-hash]\nswift_hash_path_prefix = a\nswift_hash_path_suffix = b\n"
            "[storage-policy:0]\nname = default\ndefault = yes\n"
        )
        for name in SERVERS:
            (etc / f"{name}-server.conf").write_text(self.config(name, ports[name]))
        storage = [str(ports[name]) for name in SERVERS[:3]]
        subprocess.run(
            ["/usr/bin/python3", "-c", RINGS, etc, *storage], check=True, env=self.env(), timeout=60
        )

    def env(self) -> dict[str, str]:
        return {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "LD_"))}

    def config(self, name: str, port: int) -> str:
        text = (
            f"[DEFAULT]\nbind_ip = 127.0.0.1\nbind_port = {port}\nuser = {getpass.getuser()}\n"
            f"workers = 0\nswift_dir = {self.folder}/etc\ndevices = {self.folder}/srv/node\n"
            "mount_check = false\ndisable_fallocate = true\nfallocate_reserve = 0\n"
            "log_level = WARNING\n"
        )
        if name != "proxy":
            return (
                f"{text}[pipeline:main]\npipeline = {name}-server\n"
                f"[app:{name}-server]\nuse = egg:swift#{name}\n"
            )
        plain = ("catch_errors", "gatekeeper", "healthcheck", "listing_formats", "bulk", "slo")
        return text + PROXY + "".join(f"[filter:{x}]\nuse = egg:swift#{x}\n" for x in plain)

    def start(self) -> None:
        for name in SERVERS:
            log = (self.folder / f"{name}.log").open("wb")
            command = [f"swift-{name}-server", str(self.folder / f"etc/{name}-server.conf")]
            self.processes.append(
                subprocess.Popen(
                    command, stdout=log, stderr=log, env=self.env(), stdin=subprocess.DEVNULL
                )
            )
        until = time.monotonic() + START_S
        while True:
            try:
                urllib.request.urlopen(self.url + "/healthcheck", timeout=1).close()
                return
            except OSError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.1)

    def stop(self) -> None:
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


class Flipping(BaseHTTPRequestHandler):
    """A proxy that changes a byte in the first body of each key that is put. Swift refuses
    conditions before it looks at the body."""

    protocol_version = "HTTP/1.1"
    server: FlippingServer

    def forward(self) -> None:
        body = bytearray(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        plain = self.command == "PUT" and "If-None-Match" not in self.headers
        first = plain and bool(body) and self.path not in self.server.refused
        if first:
            body[len(body) // 2] ^= 1
        to = http.client.HTTPConnection(self.server.to, timeout=60)
        headers = {k: v for k, v in self.headers.items() if k.lower() != "expect"}
        to.request(self.command, self.path, bytes(body) or None, headers)
        answer = to.getresponse()
        text = answer.read()
        if first:
            self.server.refused[self.path] = (answer.status, text)
        self.send_response(answer.status)
        length = str(len(text))
        for name, value in answer.getheaders():
            if name.lower() == "content-length":
                length = value  # of a HEAD: that of the object
            elif name.lower() not in ("connection", "transfer-encoding", "date", "server"):
                self.send_header(name, value)
        self.send_header("Content-Length", length)
        self.end_headers()
        self.wfile.write(text)
        to.close()

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = forward

    def log_message(self, *words: object) -> None:
        pass


class FlippingServer(ThreadingHTTPServer):
    daemon_threads = True
    to: str
    refused: dict[str, tuple[int, bytes]]  # what was answered to a changed body, by path


@contextmanager
def flipping(swift: Swift) -> Iterator[FlippingServer]:
    server = FlippingServer(("127.0.0.1", 0), Flipping)
    server.to, server.refused = swift.url.partition("://")[2], {}
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()
