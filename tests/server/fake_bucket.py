"""An in-memory S3 service over HTTP, with delays and faults that a test chooses.

It supports single objects (GET, HEAD, PUT with If-Match and If-None-Match, DELETE), bulk deletion and listing, but no
signatures and no multipart uploads. Every bucket exists except ``nowhere``. ``python fake_bucket.py DELAY`` prints its
address and serves until it is killed, each answer ``DELAY`` seconds late.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

_PAGE = 1000
_REASONS = {200: "OK", 204: "No Content", 404: "Not Found", 412: "Precondition Failed", 501: "Not Implemented"}


@dataclass(slots=True)
class _Object:
    content: bytes
    tag: str
    modified: datetime


@dataclass(slots=True)
class Asked:
    """One request, as a test sees it."""

    method: str
    key: str
    """``bucket/prefix/name``, or the bucket's name for a request about the whole bucket."""


@dataclass(slots=True)
class FakeBucket:
    """The service's state and faults. Only its event loop may use anything except ``requests`` and ``fault``."""

    delay: float = 0.0
    """Seconds before each answer."""
    fault: Callable[[Asked], int | None] = lambda _asked: None
    """An HTTP status instead of an answer; 0: hang up; None: answer."""
    ahead: timedelta = timedelta(0)
    """By how much the ``Date`` of its answers is wrong."""
    requests: list[Asked] = field(default_factory=list)
    objects: dict[str, _Object] = field(default_factory=dict)

    async def serve_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._answer(reader, writer):
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, target, _ = head[0].split(" ", 2)
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        address = urlsplit(target)
        asked = Asked(method, unquote(address.path).strip("/"))
        self.requests.append(asked)
        if self.delay:
            await asyncio.sleep(self.delay)
        status = self.fault(asked)
        if status == 0:
            return False
        extra: dict[str, str] = {}
        content = b""
        if status is None:
            status, extra, content = self._do(asked, parse_qs(address.query, keep_blank_values=True), headers, body)
        length = extra.pop("Content-Length", str(len(content)))
        lines = [f"HTTP/1.1 {status} {_REASONS.get(status, 'Fault')}", f"Content-Length: {length}"]
        lines.append(f"Date: {format_datetime(datetime.now(UTC) + self.ahead, usegmt=True)}")
        lines += [f"{name}: {value}" for name, value in extra.items()]
        writer.write(("\r\n".join(lines) + "\r\n\r\n").encode() + (b"" if method == "HEAD" else content))
        return True

    def _do(
        self, asked: Asked, query: dict[str, list[str]], headers: dict[str, str], body: bytes
    ) -> tuple[int, dict[str, str], bytes]:
        bucket, _, name = asked.key.partition("/")
        if bucket == "nowhere":
            return 404, {}, b"<Error><Code>NoSuchBucket</Code></Error>"
        if asked.method == "POST" and "delete" in query:
            keys = re.findall(rb"<Key>([^<]*)</Key>", body)
            for key in keys:
                self.objects.pop(f"{bucket}/{key.decode()}", None)
            rows = b"".join(b"<Deleted><Key>%s</Key></Deleted>" % key for key in keys)
            return 200, {}, b"<DeleteResult>%s</DeleteResult>" % rows
        if asked.method == "GET" and "list-type" in query:
            return 200, {"Content-Type": "application/xml"}, self._list(bucket, query)
        if asked.method == "PUT" and name and not query:
            return self._put(asked.key, headers, body)
        if asked.method == "DELETE" and not query:
            self.objects.pop(asked.key, None)
            return 204, {}, b""
        if asked.method in ("GET", "HEAD"):
            return self._get(asked.key, asked.method)
        return 501, {}, b"<Error><Code>NotImplemented</Code></Error>"

    def _get(self, key: str, method: str) -> tuple[int, dict[str, str], bytes]:
        found = self.objects.get(key)
        if found is None:
            return 404, {}, b"<Error><Code>NoSuchKey</Code></Error>"
        headers = {"ETag": found.tag, "Last-Modified": format_datetime(found.modified, usegmt=True)}
        if method == "HEAD":
            headers["Content-Length"] = str(len(found.content))
        return 200, headers, found.content

    def _put(self, key: str, headers: dict[str, str], body: bytes) -> tuple[int, dict[str, str], bytes]:
        present = self.objects.get(key)
        wanted = headers.get("if-match")
        if (wanted is not None and (present is None or present.tag != wanted)) or (
            headers.get("if-none-match") == "*" and present is not None
        ):
            return 412, {}, b"<Error><Code>PreconditionFailed</Code></Error>"
        tag = f'"{hashlib.md5(body, usedforsecurity=False).hexdigest()}"'
        self.objects[key] = _Object(body, tag, datetime.now(UTC))
        return 200, {"ETag": tag}, b""

    def _list(self, bucket: str, query: dict[str, list[str]]) -> bytes:
        prefix = query.get("prefix", [""])[0]
        after = query.get("continuation-token", query.get("start-after", [""]))[0]
        start = f"{bucket}/"
        names = sorted(key[len(start) :] for key in self.objects if key.startswith(start + prefix))
        names = [name for name in names if name > after]
        page, rest = names[:_PAGE], names[_PAGE:]
        rows = []
        for name in page:
            found = self.objects[start + name]
            rows.append(
                f"<Contents><Key>{escape(name)}</Key><LastModified>{found.modified:%Y-%m-%dT%H:%M:%S}.000Z</LastModified>"
                f"<ETag>{escape(found.tag)}</ETag><Size>{len(found.content)}</Size></Contents>"
            )
        more = f"<NextContinuationToken>{escape(page[-1])}</NextContinuationToken>" if rest else ""
        return (
            '<?xml version="1.0" encoding="UTF-8"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
            f"<Name>{bucket}</Name><Prefix>{escape(prefix)}</Prefix><KeyCount>{len(page)}</KeyCount>"
            f"<IsTruncated>{'true' if rest else 'false'}</IsTruncated>{''.join(rows)}{more}</ListBucketResult>"
        ).encode()


@contextmanager
def serving(bucket: FakeBucket) -> Iterator[str]:
    """Run the service on loopback in its own thread and return its address."""
    address: Future[str] = Future()
    stop = threading.Event()
    thread = threading.Thread(target=lambda: asyncio.run(_serve(bucket, address, stop)), daemon=True)
    thread.start()
    try:
        yield address.result(10)
    finally:
        stop.set()
        thread.join(10)


async def _serve(bucket: FakeBucket, address: Future[str], stop: threading.Event) -> None:
    server = await asyncio.start_server(bucket.serve_one, "127.0.0.1", 0)
    address.set_result(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    await asyncio.get_running_loop().run_in_executor(None, stop.wait)
    server.close()


async def _main(delay: float) -> None:
    server = await asyncio.start_server(FakeBucket(delay).serve_one, "127.0.0.1", 0)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_main(float(sys.argv[1])))
