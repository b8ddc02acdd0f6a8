"""Answers that are no files: errors, redirects, broken connections, and files that are too large."""

from __future__ import annotations

from conformance.cases import case
from conformance.play import Play
from conformance.simulator.registry import Registry
from conformance.simulator.server import Answer

CLIENT, READING, LIMITS, INDEX = (
    "protocol.md#what-a-client-does",
    "protocol.md#reading",
    "protocol.md#limits",
    "protocol.md#index-name-map-head",
)
PDF = "skill:acme/pdf"


def answered(
    name: str, page: str, quote: str, *refuses: str, path: str, answer: Answer | None, first: bool = False
) -> None:
    @case(f"transport/{name}", page, quote, *refuses)
    def play_answered(play: Play) -> None:
        registry = Registry.fresh()
        registry.release()
        registry.publish()
        play.start(registry)
        play.good("refresh")
        play.newcomer() if first else None
        play.serve(registry, {path: answer})
        play.decisive("init" if first else "refresh", **({"fingerprint": registry.fingerprint} if first else {}))


ERROR = "Every other answer than 200 is an error"
for status in (204, 206, 400, 401, 403, 404, 410, 429, 500, 502, 503):
    body = b"" if status == 204 else b"sorry\n"
    answered(
        f"head-with-status-{status}",
        READING,
        ERROR,
        "unavailable",
        "malformed",
        path="head",
        answer=Answer(status, body),
    )
answered("head-missing-at-first-contact", READING, ERROR, "unavailable", path="head", answer=None, first=True)
answered("root-missing", READING, ERROR, "unavailable", path="root/1", answer=None, first=True)
answered("config-missing", READING, ERROR, "unavailable", path="config.json", answer=None, first=True)
answered(
    "head-cut-off",
    READING,
    "An answer that ends before its `Content-Length`",
    "unavailable",
    path="head",
    answer=Answer(200, b'{"checkpoint', length=5000),
)
answered(
    "redirect-without-a-place",
    READING,
    "A redirect to another host is not followed",
    "unavailable",
    path="head",
    answer=Answer(302),
)
answered(
    "config-of-another-protocol",
    INDEX,
    '"protocol": 2',
    "malformed",
    path="config.json",
    answer=Answer(200, b'{"protocol":3,"origin":"registry.example","api":null}\n'),
    first=True,
)
answered(
    "config-with-an-unknown-member",
    "protocol.md#common-rules",
    "A parser refuses everything that is not described here",
    "malformed",
    path="config.json",
    answer=Answer(200, b'{"protocol":2,"origin":"registry.example","api":null,"x":1}\n'),
    first=True,
)
answered(
    "config-that-is-no-JSON",
    INDEX,
    "`/config.json` (at most 64 kB)",
    "malformed",
    path="config.json",
    answer=Answer(200, b"<html>\n"),
    first=True,
)
answered(
    "config-with-a-member-twice",
    "protocol.md#common-rules",
    "unknown or duplicate",
    "malformed",
    path="config.json",
    answer=Answer(200, b'{"protocol":2,"protocol":2,"origin":"registry.example","api":null}\n'),
    first=True,
)
answered(
    "config-of-more-than-64-kB",
    INDEX,
    "`/config.json` (at most 64 kB)",
    "limit",
    "malformed",
    path="config.json",
    answer=Answer(200, b'{"protocol":2,"origin":"registry.example","api":null}' + b" " * 66_000),
    first=True,
)
answered(
    "config-with-a-suggested-policy",
    INDEX,
    "a suggested policy of witnesses",
    path="config.json",
    answer=Answer(200, b'{"protocol":2,"origin":"registry.example","api":null,"witness_policy":"quorum none\\n"}\n'),
    first=True,
)
answered(
    "root-of-more-than-60000-bytes",
    "statements.md",
    "no signed note longer than 60,000 bytes",
    "limit",
    "malformed",
    path="root/1",
    answer=Answer(200, b"x" * 61_000),
    first=True,
)


@case("transport/redirect-to-another-host", READING, "A redirect to another host is not followed", "unavailable")
def other_host(play: Play) -> None:
    registry = Registry.fresh()
    play.start(registry)
    there = play.url.replace("127.0.0.1", "localhost")
    play.serve(registry, {"head": Answer(302, headers=(("Location", f"{there}/checkpoint"),))})
    play.decisive("refresh")


@case(
    "transport/an-unknown-entity-tag",
    CLIENT,
    "`304` then means that head, which goes through the same checks",
    "unavailable",
    "stale",
)
def not_modified(play: Play) -> None:
    """``304`` for a client that may have kept a tag: its own head is too old by now."""
    registry = Registry.fresh()
    play.start(registry, {"head": Answer(200, registry.files["head"], headers=(("ETag", '"one"'),))})
    play.serve(registry, {"head": Answer(304)})
    registry.wait(days=8)
    play.now = registry.now
    play.decisive("refresh")


@case("transport/an-outage-changes-nothing", CLIENT, "Only then write the trusted state and the project.")
def outage(play: Play) -> None:
    registry = Registry.fresh()
    play.start(registry)
    play.serve(registry, {"head": Answer(503)})
    play.refused("refresh", "unavailable")
    play.serve(registry)
    play.decisive("refresh")


@case("transport/an-index-file-of-more-than-16-MiB", LIMITS, "an index file", "limit", "hash")
def large_index(play: Play) -> None:
    from conformance.simulator.keys import sha256
    from conformance.simulator.names import NameMap, Row

    registry = Registry.fresh()
    registry.release()
    registry.publish()
    play.start(registry)
    play.good("resolve", names=[PDF])
    files = registry.index_files()
    names = NameMap.of(
        Row(name, sha256(data), 16 * 1024**2 + 1 if name == PDF else len(data)) for name, data in files.items()
    )
    registry.wait(minutes=1)
    registry.publish(names=names)
    play.serve(registry)
    play.decisive("resolve", names=[PDF])
