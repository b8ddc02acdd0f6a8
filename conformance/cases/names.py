"""The name map and the index files: look-up, proofs of absence, and nodes and files that are not written exactly so."""

from __future__ import annotations

from collections.abc import Callable

from conformance.cases import case
from conformance.play import Play
from conformance.simulator.keys import Key, flipped, sha256, text_of
from conformance.simulator.names import NameMap, Row, leaf_text
from conformance.simulator.registry import Registry, index_file, index_line
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


# Index files


def index(
    name: str,
    quote: str,
    *refuses: str,
    page: str = INDEX,
    lie: Callable[[list[tuple[int, str]]], bytes],
    of: str = PDF,
) -> None:
    """The operator signs a map with an index file that breaks a rule."""

    @case(f"index/{name}", page, quote, *refuses)
    def play_index(play: Play) -> None:
        registry = with_release()
        registry.yank()
        registry.yank(state="available")
        registry.release("skill:acme/other")
        registry.publish()
        play.start(registry)
        play.good("resolve", names=[PDF])
        files = {**registry.index_files(), of: lie(registry.indexes[of])}
        registry.wait(minutes=1)
        registry.publish(indexes=files)
        play.serve(registry)
        play.decisive("resolve", names=[PDF])


def lines(edit: Callable[[str], str]) -> Callable[[list[tuple[int, str]]], bytes]:
    return lambda rows: edit(index_file(rows).decode()).encode()


LINE = 'JSON without spaces, only `"`, `\\` and LF escaped'
index("in-another-order", "in the order of the log", "malformed", lie=lambda rows: index_file(rows[::-1]))
index("a-position-twice", "in the order of the log", "malformed", lie=lambda rows: index_file([rows[0], *rows]))
index(
    "a-position-outside-of-the-log",
    '{"log":<position>,"note":"<the whole signed note>"}',
    "foreign",
    "malformed",
    "proof",
    lie=lambda rows: index_file([rows[0], (1000, rows[1][1])]),
)
index(
    "a-position-right-after-the-log",
    "Positions ascend and are below the head's size.",
    "foreign",
    "malformed",
    "proof",
    lie=lambda rows: index_file([rows[0], (10, rows[1][1])]),
)
index(
    "a-position-with-a-leading-zero",
    "without leading zeros",
    "malformed",
    page=COMMON,
    lie=lambda rows: index_file([(f"0{rows[0][0]}", rows[0][1])]),
)
index(
    "a-position-above-2-to-the-53",
    "at most 2^53−1",
    "malformed",
    "foreign",
    page=COMMON,
    lie=lambda rows: index_file([rows[0], (2**53, rows[1][1])]),
)
index(
    "a-negative-position",
    "Numbers are ASCII decimals",
    "malformed",
    page=COMMON,
    lie=lambda rows: index_file([(-1, rows[0][1])]),
)
index("a-space", LINE, "malformed", lie=lines(swap('","note"', '", "note"') if False else swap(',"note"', ', "note"')))
index("members-exchanged", LINE, "malformed", lie=lambda rows: f'{{"note":"x","log":{rows[0][0]}}}\n'.encode())
index("an-unknown-member", LINE, "malformed", lie=lines(swap('"}\n', '","x":1}\n')))
index("another-escape", LINE, "malformed", lie=lines(swap("rye.release", "\\u0072ye.release")))
index("an-escaped-slash", LINE, "malformed", lie=lines(swap("rye.release/v1", "rye.release\\/v1")))
index("without-LF-at-its-end", "and LF;", "malformed", lie=lines(lambda t: t[:-1]))
index("an-empty-line", LINE, "malformed", lie=lines(lambda t: t + "\n"))
index("CR-LF", LINE, "malformed", lie=lines(lambda t: t.replace("}\n", "}\r\n")))
index(
    "not-UTF-8",
    "Text is UTF-8",
    "malformed",
    page=COMMON,
    lie=lambda rows: index_file(rows).replace(b"Fills", b"F\xffls"),
)
index(
    "a-note-that-is-none",
    "Every note is parsed",
    "malformed",
    page=CLIENT,
    lie=lambda rows: index_file([(rows[0][0], "no note\n")]),
)
index(
    "an-unknown-statement",
    "A parser refuses everything that is not described here",
    "malformed",
    "foreign",
    page=COMMON,
    lie=lambda rows: index_file([(rows[0][0], rows[0][1].replace("rye.release/v1", "rye.surprise/v1"))]),
)
index(
    "a-line-about-another-name",
    "one line per statement about it",
    "foreign",
    lie=lambda rows: index_file([(rows[0][0], rows[0][1].replace("acme/pdf", "acme/other"))]),
)
index(
    "a-line-of-another-origin",
    "one line per statement about it",
    "foreign",
    lie=lambda rows: index_file([(rows[0][0], rows[0][1].replace("origin registry.example", "origin other.example"))]),
)
index(
    "a-keyset-in-an-items-index",
    "(releases, yanks, deprecations, advisories, takedowns)",
    "foreign",
    lie=lambda rows: index_file([(3, _keyset())]),
)
index(
    "a-snapshot-in-an-items-index",
    "(releases, yanks, deprecations, advisories, takedowns)",
    "foreign",
    lie=lambda rows: index_file([(3, Registry.fresh().snapshot)]),
)
index(
    "a-release-in-a-namespaces-index",
    "Of a namespace: its keysets",
    "foreign",
    lie=lambda rows: index_file([*rows, (6, _release())]),
    of="namespace:acme",
)
index(
    "empty-of-a-namespace",
    "Of a namespace: its keysets",
    "keyset",
    "malformed",
    "vanished",
    "fork",
    lie=lambda rows: b"",
    of="namespace:acme",
)


def _keyset() -> str:
    return Registry.fresh().indexes["namespace:acme"][0][1]


def _release() -> str:
    return with_release().indexes[PDF][0][1]


@case("index/a-name-without-its-namespace", CLIENT, "releases need the keyset chain of their namespace", "keyset")
def without_namespace(play: Play) -> None:
    registry = with_release()
    files = {PDF: registry.index_files()[PDF]}
    registry.publish(indexes=files)
    play.start(registry)
    play.decisive("resolve", names=[PDF])


NOT_LOGGED = "its note is included at its position in the checkpointed tree, from tiles"


def unlogged(
    name: str, command: str, position: Callable[[Registry], int], note: Callable[[str], str], of: str = PDF
) -> None:
    """An index file with a line that is not in the log there, in a map that the operator signs."""

    @case(f"index/{name}", CLIENT, NOT_LOGGED, "proof")
    def play_unlogged(play: Play) -> None:
        registry = with_release()
        registry.publish()
        play.start(registry)
        play.good(command, item=PDF, version="1.0.0")
        [(_, signed)] = registry.indexes[of]
        registry.fill(3)
        files = {**registry.index_files(), of: index_file([(position(registry), note(signed))])}
        registry.wait(minutes=1)
        registry.publish(indexes=files)
        play.newcomer()
        play.serve(registry)
        play.good("init", fingerprint=registry.fingerprint)
        play.decisive(command, item=PDF, version="1.0.0")


for asked in ("fetch", "prove"):
    unlogged(f"a-release-at-another-position-{asked}", asked, lambda r: r.size - 1, lambda n: n)
    unlogged(
        f"a-release-with-another-signature-line-{asked}",
        asked,
        lambda r: r.indexes[PDF][0][0],
        lambda n: n + Registry.fresh().by("acme", Key("stranger"))[0].line(text_of(n)),
    )
    unlogged(f"a-keyset-at-another-position-{asked}", asked, lambda r: 1, lambda n: n, "namespace:acme")


@case("index/a-tile-is-changed", CLIENT, NOT_LOGGED, "proof")
def tile_changed(play: Play) -> None:
    registry = with_release()
    registry.publish()
    play.start(registry)
    play.serve(registry, {path: flipped(data) for path, data in registry.files.items() if path.startswith("tile/0")})
    play.decisive("fetch", item=PDF, version="1.0.0")


@case("index/tiles-are-missing", CLIENT, NOT_LOGGED, "unavailable")
def tiles_missing(play: Play) -> None:
    registry = with_release()
    registry.publish()
    play.start(registry)
    play.serve(registry, {path: None for path in registry.files if path.startswith("tile/0")})
    play.decisive("fetch", item=PDF, version="1.0.0")


@case("index/a-large-log", CLIENT, NOT_LOGGED)
def large_log(play: Play) -> None:
    registry = with_release()
    registry.fill(600)
    registry.release(version="1.1.0")
    registry.fill(100)
    registry.publish()
    play.start(registry)
    play.good("fetch", item=PDF, version="1.0.0")
    play.expect(
        "the position", play.decisive("fetch", item=PDF, version="1.1.0")["position"], registry.indexes[PDF][1][0]
    )


@case("index/an-upper-tile-is-changed", CLIENT, "each full tile to its parent's entry", "proof")
def upper_tile_changed(play: Play) -> None:
    registry = with_release()
    registry.fill(600)
    registry.publish()
    play.start(registry)
    play.serve(registry, {path: flipped(data) for path, data in registry.files.items() if path.startswith("tile/1")})
    play.decisive("fetch", item=PDF, version="1.0.0")


@case("index/a-log-line-that-is-only-a-comment", INDEX, LINE, "malformed")
def comment_line(play: Play) -> None:
    registry = with_release()
    files = registry.index_files()
    files[PDF] = b"# index\n" + files[PDF]
    registry.publish(indexes=files)
    play.start(registry)
    play.decisive("resolve", names=[PDF])


@case("index/a-position-as-text", INDEX, LINE, "malformed")
def position_as_text(play: Play) -> None:
    registry = with_release()
    files = registry.index_files()
    [(position, signed)] = registry.indexes[PDF]
    files[PDF] = index_line(f'"{position}"', signed).encode()
    registry.publish(indexes=files)
    play.start(registry)
    play.decisive("resolve", names=[PDF])


index(
    "in-another-order-at-its-end",
    "Positions ascend and are below the head's size.",
    "malformed",
    lie=lambda rows: index_file([rows[0], rows[2], rows[1]]),
)
index("with-another-character-instead-of-its-last-LF", "and LF;", "malformed", lie=lines(lambda t: t[:-1] + "x"))
