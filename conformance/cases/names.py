"""The name map: look-up, proofs of absence, and nodes that are not written exactly so."""

from __future__ import annotations

from collections.abc import Callable

from conformance.cases import case
from conformance.play import Play
from conformance.simulator.keys import sha256
from conformance.simulator.names import NameMap, Row, leaf_text
from conformance.simulator.registry import Registry
from conformance.simulator.server import Answer
from conformance.tables import swap

CLIENT, COMMON, INDEX = "protocol.md#what-a-client-does", "protocol.md#common-rules", "protocol.md#index-name-map-head"
MAP = "name-map.md"
ABSENT = "A leaf without the name, or an inner node without a row for the byte, is the proof that it does not exist."
EXACTLY = "A **reader** refuses every node that is not written exactly like this."
PDF = "skill:acme/pdf"


def with_release() -> Registry:
    registry = Registry.fresh()
    registry.release()
    return registry


def crowd(registry: Registry, count: int) -> dict[str, bytes]:
    """Index files of the registry and of ``count`` other namespaces, whose content no case reads."""
    others = {f"namespace:n{number}": f"{number}\n".encode() for number in range(count)}
    return {**registry.index_files(), **others}


def look_up(name: str, count: int, *refuses: str, quote: str = "**Look-up**") -> None:
    """A release among so many other names."""

    @case(f"map/look-up-among-{name}", MAP, quote, *refuses)
    def play_look_up(play: Play) -> None:
        registry = with_release()
        registry.publish(indexes=crowd(registry, count))
        play.start(registry)
        found = play.decisive("resolve", names=[PDF, "skill:acme/none"], namespaces=["acme", "nobody"])
        play.expect("the release", [one["version"] for one in found["names"][PDF]["releases"]], ["1.0.0"])
        play.expect("what is absent", (found["names"]["skill:acme/none"], found["namespaces"]["nobody"]), (None, None))


look_up("two-names", 0)
look_up("128-names", 126, quote="with at most 128 names, a leaf `- 00-ff`")
look_up("129-names", 127, quote="halve each range that holds more than 128 names")
look_up("1000-names", 1000, quote="halve each range that holds more than 128 names")
look_up("40000-names", 40_000, quote="an inner node whose prefix has that value as one byte more")


@case("map/an-empty-one", MAP, "The root of the empty map is the leaf without names")
def empty_map(play: Play) -> None:
    registry = Registry()
    registry.add_root()
    registry.publish()
    play.start(registry)
    play.expect(
        "the root of the map", registry.head["map"], "9581c1e1010453daf6dddb66b5a5b5ab987750b25e0bad967a427332a2cb0d4b"
    )
    play.expect("what is absent", play.decisive("resolve", names=[PDF])["names"][PDF], None)


@case("map/an-empty-row-in-an-inner-node", MAP, ABSENT)
def empty_row(play: Play) -> None:
    registry = with_release()
    files = crowd(registry, 0)
    number = 0
    while len(files) < 140:  # all in the lower half of the hashes, so that the root has no row for the rest
        number += 1
        if Row(f"namespace:n{number}", "", 0).hash[0] < 128:
            files[f"namespace:n{number}"] = b""
    high = next(n for n in range(1000) if Row(f"namespace:m{n}", "", 0).hash[0] >= 250)
    files = {name: data for name, data in files.items() if Row(name, "", 0).hash[0] < 128}
    registry.publish(indexes=files)
    play.start(registry)
    play.expect("what is absent", play.decisive("resolve", namespaces=[f"m{high}"])["namespaces"], {f"m{high}": None})


def mirror(
    name: str,
    quote: str,
    *refuses: str,
    page: str = CLIENT,
    count: int = 300,
    changes: Callable[[Registry], dict[str, bytes | Answer | None]],
) -> None:
    """A mirror that changes files which the head's hashes fix."""

    @case(f"map/mirror-{name}", page, quote, *refuses)
    def play_mirror(play: Play) -> None:
        registry = with_release()
        registry.publish(indexes=crowd(registry, count))
        play.start(registry)
        play.good("resolve", names=[PDF])
        play.newcomer()
        play.good("init", fingerprint=registry.fingerprint)
        play.serve(registry, changes(registry))
        play.decisive("resolve", names=[PDF])


def every(
    prefix: str, change: Callable[[bytes], bytes | Answer | None]
) -> Callable[[Registry], dict[str, bytes | Answer | None]]:
    return lambda registry: {path: change(data) for path, data in registry.files.items() if path.startswith(prefix)}


def exchanged(registry: Registry) -> dict[str, bytes | Answer | None]:
    """Each node with the content of another."""
    paths = sorted(path for path in registry.files if path.startswith("map/"))
    return {path: registry.files[other] for path, other in zip(paths, [*paths[1:], paths[0]], strict=True)}


BY_HASH = "fetch the path in the name map, then the index file, each by its hash"
mirror("changes-a-node", BY_HASH, "hash", "malformed", changes=every("map/", lambda d: d.replace(b"1", b"2", 1)))
mirror(
    "changes-a-size-in-a-node", BY_HASH, "hash", changes=every("map/", lambda d: d[:-2] + bytes([d[-2] ^ 1]) + d[-1:])
)
mirror("exchanges-nodes", BY_HASH, "hash", "foreign", changes=exchanged)
mirror("has-no-nodes", BY_HASH, "unavailable", changes=every("map/", lambda d: None))
mirror("has-no-index-file", BY_HASH, "unavailable", changes=every("index/", lambda d: None))
mirror("changes-an-index-file", BY_HASH, "hash", changes=every("index/", lambda d: d.replace(b"pdf", b"pfd")))
mirror("cuts-an-index-file-off", BY_HASH, "hash", changes=every("index/", lambda d: d[: len(d) // 2]))
mirror("adds-to-an-index-file", BY_HASH, "hash", "limit", changes=every("index/", lambda d: d + d))
mirror("has-empty-index-files", BY_HASH, "hash", changes=every("index/", lambda d: b""))
mirror(
    "has-too-large-a-node",
    "at most 160 kB",
    "limit",
    "hash",
    page=MAP,
    changes=every("map/", lambda d: d + b" " * 170_000),
)


def lied(
    name: str, quote: str, *refuses: str, page: str = MAP, count: int = 0, nodes: Callable[[NameMap, list[Row]], str]
) -> None:
    """The operator signs a map with a node that breaks a rule. ``nodes`` adds to the honest map and returns the root."""

    @case(f"map/{name}", page, quote, *refuses)
    def play_lied(play: Play) -> None:
        registry = with_release()
        files = crowd(registry, count)
        registry.publish(indexes=files)
        play.start(registry)
        play.good("resolve", names=[PDF])
        names = registry.map(files)
        rows = sorted((Row(n, sha256(data), len(data)) for n, data in files.items()), key=lambda row: row.name.encode())
        names.root = nodes(names, rows)
        registry.wait(minutes=1)
        registry.publish(names=names, indexes=files)
        play.serve(registry)
        play.decisive("resolve", names=[PDF])


def leaf(edit: Callable[[str], str]) -> Callable[[NameMap, list[Row]], str]:
    """The root as a leaf, edited."""
    return lambda names, rows: names.add(edit(leaf_text(b"", 0, 255, rows)))


def with_row(row: str) -> Callable[[NameMap, list[Row]], str]:
    """The root as a leaf, with a row more."""
    return leaf(lambda text: "".join([text.splitlines(True)[0], *sorted([*text.splitlines(True)[1:], row])]))


def root(edit: Callable[[str], str]) -> Callable[[NameMap, list[Row]], str]:
    """The root as an inner node, edited."""
    return lambda names, rows: names.add(edit(names.nodes[names.root].decode()))


lied(
    "leaf-in-another-order",
    "sorted by their bytes",
    "malformed",
    nodes=leaf(lambda t: "".join([t.splitlines(True)[0], *t.splitlines(True)[:0:-1]])),
)
lied("leaf-with-a-name-twice", "sorted by their bytes", "malformed", nodes=leaf(lambda t: t + t.splitlines(True)[-1]))
lied("leaf-with-an-unknown-title", EXACTLY, "malformed", nodes=leaf(swap("rye.map/v1", "rye.map/v2")))
lied("leaf-without-LF-at-its-end", "LF after each line", "malformed", nodes=leaf(lambda t: t[:-1]))
lied("leaf-with-an-empty-line", "LF after each line", "malformed", nodes=leaf(lambda t: t + "\n"))
lied("leaf-with-two-spaces", EXACTLY, "malformed", nodes=leaf(swap("namespace:acme ", "namespace:acme  ")))
lied("leaf-with-a-trailing-space", EXACTLY, "malformed", nodes=leaf(lambda t: t[:-1] + " \n"))
lied("leaf-with-CR-LF", EXACTLY, "malformed", nodes=leaf(lambda t: t.replace("\n", "\r\n")))
lied(
    "leaf-with-a-size-with-a-leading-zero",
    "numbers and hashes as in the",
    "malformed",
    nodes=leaf(lambda t: t.rpartition(" ")[0] + " 0" + t.rpartition(" ")[2]),
)
lied(
    "leaf-with-a-hash-in-capitals",
    "numbers and hashes as in the",
    "malformed",
    nodes=leaf(
        lambda t: (
            t.splitlines(True)[0]
            + "".join(
                " ".join([r.split(" ")[0], r.split(" ")[1].upper(), r.split(" ")[2]]) for r in t.splitlines(True)[1:]
            )
        )
    ),
)
lied(
    "leaf-with-a-short-hash",
    "numbers and hashes as in the",
    "malformed",
    nodes=leaf(lambda t: t.replace(" ", "", 1) if False else t[:-70] + t[-69:]),
)
lied(
    "leaf-with-a-name-that-is-none",
    "names that are names",
    "malformed",
    nodes=leaf(lambda t: t + f"tool:acme {'0' * 64} 1\n"),
)
lied(
    "leaf-with-an-unknown-kind",
    "names that are names",
    "malformed",
    nodes=leaf(lambda t: t + f"spell:acme/x {'0' * 64} 1\n" if True else t),
)
lied(
    "leaf-with-a-letter-that-is-not-ASCII",
    "LF after each line, ASCII",
    "malformed",
    nodes=leaf(lambda t: t + f"tool:acme/ü {'0' * 64} 1\n"),
)
lied(
    "root-leaf-with-a-prefix",
    "The **root** has no prefix",
    "malformed",
    "foreign",
    nodes=leaf(swap("leaf - 00-ff", "leaf 00 00-ff")),
)
lied(
    "root-leaf-of-half-the-range",
    "The **root** has no prefix",
    "malformed",
    "foreign",
    "hash",
    nodes=leaf(swap("00-ff", "00-7f")),
)
lied("range-in-capitals", EXACTLY, "malformed", nodes=leaf(swap("00-ff", "00-FF")))
lied("leaf-of-129-names", "lists names, at most 128", "malformed", "limit", count=127, nodes=leaf(lambda t: t))
lied(
    "inner-node-of-128-names",
    "An inner node has more than 128 names in all.",
    "malformed",
    count=0,
    nodes=lambda m, rows: m.add(f"rye.map/v1 inner -\n00-7f {len(rows)} {m.leaf(b'', 0, 127, rows)}\n"),
)
lied(
    "inner-node-without-rows",
    "An inner node has more than 128 names in all.",
    "malformed",
    nodes=lambda m, rows: m.add("rye.map/v1 inner -\n"),
)
lied(
    "inner-node-in-another-order",
    "Rows of an inner node are in order and do not overlap.",
    "malformed",
    count=300,
    nodes=root(lambda t: "".join([t.splitlines(True)[0], *t.splitlines(True)[:0:-1]])),
)
lied(
    "inner-node-with-a-row-twice",
    "Rows of an inner node are in order and do not overlap.",
    "malformed",
    count=300,
    nodes=root(lambda t: t + t.splitlines(True)[-1]),
)
lied(
    "inner-node-with-a-count-of-zero",
    "A range without names has no row.",
    "malformed",
    count=300,
    nodes=root(
        lambda t: (
            t.splitlines(True)[0] + "".join(f"{r.split(' ')[0]} 0 {r.split(' ')[2]}" for r in t.splitlines(True)[1:])
        )
    ),
)
lied(
    "inner-node-that-counts-one-more",
    "it has exactly as many names as the row says",
    "foreign",
    "hash",
    "malformed",
    count=300,
    nodes=root(
        lambda t: (
            t.splitlines(True)[0]
            + "".join(f"{r.split(' ')[0]} {int(r.split(' ')[1]) + 1} {r.split(' ')[2]}" for r in t.splitlines(True)[1:])
        )
    ),
)
lied(
    "inner-node-with-a-range-of-three",
    "A range has 1, 2, 4, … or 256 values and begins at a multiple of their number.",
    "malformed",
    count=300,
    nodes=root(lambda t: t.replace("00-3f", "00-3e").replace("00-7f", "00-7e")),
)
lied(
    "inner-node-with-the-whole-range",
    "`00-ff` is not a row",
    "malformed",
    count=300,
    nodes=lambda m, rows: m.add(f"rye.map/v1 inner -\n00-ff {len(rows)} {m.root}\n"),
)
lied(
    "split-without-need",
    "so no row was split off without need",
    "malformed",
    count=300,
    nodes=lambda m, rows: _split_more(m, rows),
)
lied(
    "prefix-that-is-not-the-rows",
    "its prefix and range are the row's",
    "foreign",
    "malformed",
    "hash",
    count=300,
    nodes=lambda m, rows: _replaced_leaves(m, swap("leaf - ", "leaf 00 ")),
)
lied(
    "range-that-is-not-the-rows",
    "its prefix and range are the row's",
    "foreign",
    "malformed",
    "hash",
    count=300,
    nodes=lambda m, rows: _replaced_leaves(
        m,
        lambda t: (
            t.replace("3f\n", "1f\n", 1)
            .replace("7f\n", "6f\n", 1)
            .replace("bf\n", "af\n", 1)
            .replace("ff\n", "ef\n", 1)
        ),
    ),
)
lied(
    "leaf-with-a-name-of-another-leaf",
    "The hash of each name in a leaf begins with the leaf's prefix and continues with a byte of its range.",
    "malformed",
    "foreign",
    count=300,
    nodes=lambda m, rows: _shifted(m, rows),
)
lied(
    "leaf-that-hides-a-name",
    "it has exactly as many names as the row says",
    "foreign",
    "hash",
    "malformed",
    count=300,
    nodes=lambda m, rows: _replaced_leaves(
        m, lambda t: "".join(line for line in t.splitlines(True) if PDF not in line)
    ),
)


def _split_more(names: NameMap, rows: list[Row]) -> str:
    """Sixteen rows where fewer were enough."""
    lines = []
    for low in range(0, 256, 16):
        some = [row for row in rows if low <= row.hash[0] < low + 16]
        lines.append(f"{low:02x}-{low + 15:02x} {len(some)} {names.leaf(b'', low, low + 15, some)}\n")
    return names.add("rye.map/v1 inner -\n" + "".join(lines))


def _replaced_leaves(names: NameMap, edit: Callable[[str], str]) -> str:
    """The root, with each leaf below it edited and named by its new hash."""
    first, *rows = names.nodes[names.root].decode().splitlines(True)
    edited = []
    for row in rows:
        range_, count, child = row.split()
        edited.append(f"{range_} {count} {names.add(edit(names.nodes[child].decode()))}\n")
    return names.add(first + "".join(edited))


def _shifted(names: NameMap, rows: list[Row]) -> str:
    """Each leaf with the names of the next."""
    first, *lines = names.nodes[names.root].decode().splitlines(True)
    bodies = [names.nodes[line.split()[2]].decode().split("\n", 1)[1] for line in lines]
    edited = []
    for line, body in zip(lines, [*bodies[1:], bodies[0]], strict=True):
        range_, _, child = line.split()
        title = names.nodes[child].decode().split("\n", 1)[0]
        edited.append(f"{range_} {body.count(chr(10))} {names.add(f'{title}{chr(10)}{body}')}\n")
    return names.add(first + "".join(edited))
