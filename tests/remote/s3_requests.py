# SPDX-License-Identifier: Apache-2.0
"""Requests to S3 with a signature that Python makes: what the tests look at a server with."""

from __future__ import annotations

import hashlib
import hmac
import os
import time
import urllib.error
import urllib.parse
import urllib.request
import xml.etree.ElementTree as ElementTree
from pathlib import Path


class S3:
    def __init__(self, url: str, key: str, secret: str, region: str = "us-east-1") -> None:
        self.url, self.key, self.secret, self.region = url, key, secret, region

    def send(
        self, method: str, path: str, body: bytes = b"", query: dict[str, str] | None = None
    ) -> bytes:
        now = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        scope = f"{now[:8]}/{self.region}/s3/aws4_request"
        sha = hashlib.sha256(body).hexdigest()
        quoted = urllib.parse.quote(path, safe="/-._~")
        pairs = sorted((urllib.parse.quote(k, safe="-._~"), urllib.parse.quote(v, safe="-._~"))
                       for k, v in (query or {}).items())  # fmt: skip
        text = "&".join(f"{k}={v}" for k, v in pairs)
        host = self.url.partition("://")[2]
        headers = {"host": host, "x-amz-content-sha256": sha, "x-amz-date": now}
        names = ";".join(sorted(headers))
        canonical = "\n".join(
            [method, quoted, text, *(f"{k}:{headers[k]}" for k in sorted(headers)), "", names, sha]
        )
        digest = hashlib.sha256(canonical.encode()).hexdigest()
        to_sign = f"AWS4-HMAC-SHA256\n{now}\n{scope}\n{digest}"
        k = ("AWS4" + self.secret).encode()
        for part in (now[:8], self.region, "s3", "aws4_request"):
            k = hmac.new(k, part.encode(), hashlib.sha256).digest()
        signature = hmac.new(k, to_sign.encode(), hashlib.sha256).hexdigest()
        headers["authorization"] = (
            f"AWS4-HMAC-SHA256 Credential={self.key}/{scope},SignedHeaders={names},"
            f"Signature={signature}"
        )
        address = f"{self.url}{quoted}" + (f"?{text}" if text else "")
        request = urllib.request.Request(address, body or None, headers, method=method)
        if method == "PUT" and not body:
            request.data = b""
        with urllib.request.urlopen(request, timeout=30) as answer:
            return bytes(answer.read())

    def make_bucket(self, bucket: str) -> None:
        self.send("PUT", f"/{bucket}")

    def keys(self, bucket: str, prefix: str = "") -> list[str]:
        found = self.send("GET", f"/{bucket}", query={"list-type": "2", "prefix": prefix})
        space = "{http://s3.amazonaws.com/doc/2006-03-01/}"
        return [str(x.text) for x in ElementTree.fromstring(found).iter(f"{space}Key")]

    def get(self, bucket: str, key: str) -> bytes:
        return self.send("GET", f"/{bucket}/{key}")

    def put(self, bucket: str, key: str, body: bytes) -> None:
        self.send("PUT", f"/{bucket}/{key}", body)


def environment(url: str, key: str, secret: str, cache: Path) -> dict[str, str]:
    """Nothing of this machine's own set-up for AWS."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith("AWS_")}
    return clean | {
        "AWS_ENDPOINT_URL_S3": url,
        "AWS_ACCESS_KEY_ID": key,
        "AWS_SECRET_ACCESS_KEY": secret,
        "AWS_REGION": "us-east-1",
        "AWS_CONFIG_FILE": "/nonexistent",
        "AWS_SHARED_CREDENTIALS_FILE": "/nonexistent",
        "AWS_EC2_METADATA_DISABLED": "true",
        "XDG_CACHE_HOME": str(cache),
        "FOOTPLATE_NVML": "/nonexistent.so",
    }
