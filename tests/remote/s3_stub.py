# SPDX-License-Identifier: Apache-2.0
"""A server that speaks as much of S3 as Footplate uses, on 127.0.0.1, in memory.

It checks no signatures (Swift does, see swift_server.py). It can be slow, busy, cut answers short
and answer 200 with an error: Stub.faults is asked before each request.
"""

from __future__ import annotations

import hashlib
import io
import threading
import time
import urllib.parse
from collections.abc import Callable
from dataclasses import dataclass, field
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from xml.sax.saxutils import escape


@dataclass
class Stored:
    body: bytes
    etag: str
    changed: float


@dataclass
class Asked:
    method: str
    key: str
    query: dict[str, str]
    headers: dict[str, str]
    at: float = field(default_factory=time.monotonic)  # when it is answered


@dataclass
class Stub:
    """Objects by "bucket/key". `faults(asked)` may return (status, code); "cut": an answer that
    ends early; "drop": none at all; "lost": it is done, and then no answer; or None."""

    objects: dict[str, Stored] = field(default_factory=dict)
    uploads: dict[str, dict[int, bytes]] = field(default_factory=dict)
    log: list[Asked] = field(default_factory=list)
    faults: Callable[[Asked], object] = lambda asked: None
    delay_s: float = 0.0
    conditions: bool = True  # conditional writes; else they are refused, or plain writes with
    ignores: bool = False
    page: int = 1000
    lock: threading.Lock = field(default_factory=threading.Lock)
    url: str = ""

    def keys(self, bucket: str = "bucket") -> list[str]:
        start = bucket + "/"
        return sorted(k[len(start) :] for k in self.objects if k.startswith(start))

    def counts(self) -> dict[str, int]:
        """Requests as they are billed."""
        names = {"PUT": "put", "POST": "put", "GET": "get", "HEAD": "get", "DELETE": "delete"}
        found = {"put": 0, "get": 0, "list": 0, "delete": 0}
        for asked in self.log:
            found["list" if "list-type" in asked.query else names[asked.method]] += 1
        return found

    def put(self, key: str, body: bytes) -> None:
        etag = f'"{hashlib.md5(body).hexdigest()}"'
        self.objects[key] = Stored(body, etag, time.time())


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: object) -> None:
        pass

    def answer(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("x-amz-request-id", "STUB")
        self.end_headers()
        try:
            if self.command != "HEAD":
                self.wfile.write(body)
        except BrokenPipeError:  # the client was killed
            self.close_connection = True

    def error(self, status: int, code: str, more: str = "") -> None:
        body = f"<Error><Code>{code}</Code><Message>{code}, says the stub</Message>{more}</Error>"
        self.answer(status, body.encode(), Content_Type="application/xml")

    def fault(self, fault: object) -> None:
        if fault == "drop":
            self.close_connection = True
        elif fault == "cut":
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(b"only this")
            self.close_connection = True
        else:
            status, code = fault  # type: ignore[misc]
            self.error(status, code)

    def handle_any(self) -> None:
        stub = self.server.stub
        path, _, query_text = self.path.partition("?")
        key = urllib.parse.unquote(path).lstrip("/")
        query = dict(urllib.parse.parse_qsl(query_text, keep_blank_values=True))
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        asked = Asked(self.command, key, query, {k.lower(): v for k, v in self.headers.items()})
        time.sleep(stub.delay_s)
        with stub.lock:
            stub.log.append(asked)
            fault = stub.faults(asked)
            if fault == "lost":
                self.wfile, self.close_connection = io.BytesIO(), True
            if fault and fault != "lost":
                self.fault(fault)
            elif "/" not in key:
                self.list(key, query)
            elif self.command in ("GET", "HEAD"):
                self.get(key, asked)
            elif self.command == "PUT":
                self.put(key, query, body)
            elif self.command == "POST":
                self.post(key, query)
            else:
                stub.objects.pop(key, None)
                stub.uploads.pop(query.get("uploadId", ""), None)
                self.answer(204)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = handle_any

    def get(self, key: str, asked: Asked) -> None:
        stored = self.server.stub.objects.get(key)
        if stored is None:
            return self.error(404, "NoSuchKey")
        if asked.headers.get("if-match", stored.etag) != stored.etag:
            return self.error(412, "PreconditionFailed")
        if asked.headers.get("if-none-match") == stored.etag:
            return self.answer(304, ETag=stored.etag)
        total, spec = len(stored.body), asked.headers.get("range")
        more = {"ETag": stored.etag, "Last_Modified": formatdate(stored.changed, usegmt=True)}
        if spec is None:
            return self.answer(200, stored.body, **more)
        first, _, last = spec.removeprefix("bytes=").partition("-")
        begin = max(0, total - int(last)) if not first else int(first)
        end = total if not first or not last else min(total, int(last) + 1)
        if begin >= total:
            return self.error(416, "InvalidRange")
        more["Content_Range"] = f"bytes {begin}-{end - 1}/{total}"
        self.answer(206, stored.body[begin:end], **more)

    def put(self, key: str, query: dict[str, str], body: bytes) -> None:
        stub = self.server.stub
        claimed = self.headers.get("x-amz-content-sha256")
        if claimed and claimed != hashlib.sha256(body).hexdigest():
            return self.error(400, "XAmzContentSHA256Mismatch")
        if "uploadId" in query:
            stub.uploads[query["uploadId"]][int(query["partNumber"])] = body
            return self.answer(200, ETag=f'"part-{query["partNumber"]}"')
        if self.headers.get("If-None-Match") and not stub.ignores:
            if not stub.conditions:
                return self.error(501, "NotImplemented")
            if key in stub.objects:
                return self.error(412, "PreconditionFailed")
        stub.put(key, body)
        self.answer(200, ETag=stub.objects[key].etag)

    def post(self, key: str, query: dict[str, str]) -> None:
        stub = self.server.stub
        if "uploads" in query:
            name = f"upload-{len(stub.log)}"
            stub.uploads[name] = {}
            body = f"<R><UploadId>{name}</UploadId></R>".encode()
            return self.answer(200, body, Content_Type="application/xml")
        parts = stub.uploads.pop(query["uploadId"])
        stub.put(key, b"".join(parts[n] for n in sorted(parts)))
        self.answer(200, b"<CompleteMultipartUploadResult/>", Content_Type="application/xml")

    def list(self, bucket: str, query: dict[str, str]) -> None:
        stub = self.server.stub
        prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
        after = query.get("continuation-token") or query.get("start-after", "")
        rows: list[tuple[str, str]] = []
        for key in stub.keys(bucket):
            if not key.startswith(prefix):
                continue
            head, slash, _ = key[len(prefix) :].partition(delimiter) if delimiter else ("", "", "")
            name = prefix + head + slash if slash else key
            if name <= after or (rows and rows[-1][0] == name):
                continue
            quoted = urllib.parse.quote(name, safe="/")
            stored = stub.objects[f"{bucket}/{key}"]
            when = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(stored.changed))
            row = (
                f"<CommonPrefixes><Prefix>{quoted}</Prefix></CommonPrefixes>"
                if slash
                else f"<Contents><Key>{quoted}</Key><LastModified>{when}</LastModified>"
                f"<ETag>{escape(stored.etag)}</ETag><Size>{len(stored.body)}</Size></Contents>"
            )
            rows.append((name, row))
        page, rest = rows[: stub.page], rows[stub.page :]
        more = (
            f"<NextContinuationToken>{escape(page[-1][0])}</NextContinuationToken>" if rest else ""
        )
        text = (
            f"<ListBucketResult><IsTruncated>{'true' if rest else 'false'}</IsTruncated>{more}"
            + "".join(row for _, row in page)
            + "</ListBucketResult>"
        )
        self.answer(200, text.encode(), Content_Type="application/xml")


class Server(ThreadingHTTPServer):
    daemon_threads = True
    stub: Stub


def start() -> tuple[Stub, Server]:
    stub = Stub()
    server = Server(("127.0.0.1", 0), Handler)
    server.stub = stub
    stub.url = f"http://127.0.0.1:{server.server_address[1]}"
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    return stub, server
