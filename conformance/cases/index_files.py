"""Index files of the name map: lines that are not written exactly so, in another order, or of another name."""

from __future__ import annotations

from collections.abc import Callable

from conformance.cases import case
from conformance.cases.names import CLIENT, COMMON, INDEX, PDF, with_release
from conformance.play import Play
from conformance.simulator.keys import Key, flipped, text_of
from conformance.simulator.registry import Registry, index_file, index_line
from conformance.tables import swap


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
