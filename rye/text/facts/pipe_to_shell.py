"""``pipe-to-shell``: something is fetched and run, directly or after being saved. Nothing counts unless something is fetched."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from rye.text.facts import calls, fetchers, shell
from rye.text.facts.across import across
from rye.text.facts.fact import PIPE_TO_SHELL
from rye.text.facts.flow import Flow
from rye.text.facts.shell import shown
from rye.text.facts.source import Origin, RuleMatch, Source
from rye.text.facts.tables import triggers, word_set

#: Very common words that fetch something only in the spellings below.
_COMMON: Final = word_set(
    "fetch http https get gh aws webclient httpclient rundll32 perl php ruby python python3 node deno bun openssl links "
    "finger add git svn hg ipfs kubectl redis-cli host"
)
_TRIGGERS = triggers(
    {name for name in fetchers.PROGRAMS - _COMMON if "-" not in name}
    | word_set("downloadstring downloadfile downloaddata webclient webrequest restmethod bitstransfer lwp")
)
#: Very common words, each with the strings that the text must contain for them to fetch something.
_SPELLINGS: Final = (
    ((b"fetch ",), triggers(("fetch",))),
    (
        (
            b"http -",
            b"http get",
            b"http post",
            b"http :",
            b"http http",
            b"https -",
            b"https get",
            b"https http",
            b"https api",
        ),
        triggers(("http", "https")),
    ),
    ((b"get http",), triggers(("get",))),
    ((b"gh api ",), triggers(("gh",))),
    ((b"aws s3 ",), triggers(("aws",))),
    ((b"links http", b"links -"), triggers(("links",))),
    (
        (
            b"urlopen",
            b"file_get_contents",
            b"open-uri",
            b"requests.",
            b"http.get",
            b"https.get",
            b"fetch(",
            b"lwp",
            b"httpx.",
        ),
        triggers("python python3 node perl php ruby deno bun"),
    ),
    ((b"deno run ", b"bun run ", b"deno install "), triggers(("deno", "bun"))),
    ((b"s_client",), triggers(("openssl",))),
    ((b"@",), triggers(("finger",))),
    ((b"add http", b"add --"), triggers(("add",))),
    ((b"fetch_head", b"git show ", b"git archive ", b"git cat-file "), triggers(("git",))),
    ((b"://", b"/ipfs/", b" cat "), triggers(("svn", "hg", "ipfs"))),
    ((b"jsonpath", b"go-template"), triggers(("kubectl",))),
    ((b" get ",), triggers(("redis",))),
    ((b" txt ",), triggers(("host", "dnsname", "resolvectl"))),
)


def find(source: Source) -> Iterator[RuleMatch]:
    """Yield every place where something fetched is run."""
    words = _TRIGGERS
    for spellings, more in _SPELLINGS:
        if source.has(more) and any(spelling in source.lowered for spelling in spellings):
            words |= more
    if source.has(words):
        passed = Flow(source, PIPE_TO_SHELL, words, _fetches)
        yield from passed.run()
        source.saved[PIPE_TO_SHELL].update(passed.files)
    if source.has(_SELF_RUNNING_WORDS) and ("://" in source.text or "\\\\" in source.text):
        for line in source.logical_lines(_SELF_RUNNING_WORDS):
            for match in _SELF_RUNNING.finditer(line.text):
                yield RuleMatch(PIPE_TO_SHELL, shown(match[0]), *source.place(line, match.start(), match[0].split()[0]))
    yield from calls.find(source, calls.FETCHED, PIPE_TO_SHELL)


def find_across(sources: Sequence[Source]) -> Iterator[tuple[Source, RuleMatch]]:
    """Yield what one file of the item fetches and another runs."""
    return across(sources, PIPE_TO_SHELL, _fetches)


def _fetches(command: shell.Command, _: str) -> Origin | None:
    fetched = fetchers.fetcher_of(command)
    if fetched is None:
        return None
    index, inner, saves = fetched
    return Origin(f"{_shown(command.words[index:])} {shown(inner)}".rstrip(), 0, 0, saves)


def _shown(words: list[shell.Word]) -> str:
    return shown(" ".join(word.text for word in words))


#: Programs that run an address without a pipe, and a promise passed to ``eval``.
_SELF_RUNNING_WORDS = triggers(
    "mshta regsvr32 rundll32 msiexec cmstp ieexec presentationhost odbcconf pcalua hh julia rscript emacs "
    "appinstaller apply fetchtarball deno bun then vim nvim vi cscript wscript installutil"
)
_SELF_RUNNING = re.compile(
    r"\b(?:mshta|regsvr32|msiexec|deno\s+run|bun\s+run)(?:\.exe)?[ \t\x1f](?:-\S{1,60}\s|/\S{1,20}\s){0,6}[^\s\x1e]{0,10}https?://[\w$%\[{][^\s`;|)]{0,300}"
    r"|\b(?:rundll32|regsvr32|mshta|msiexec|cscript|wscript|start|installutil|control|"
    r"cmd(?:\.exe)?\s/c)(?:\.exe)?[ \t\x1f](?:[-/\"]\S{0,20}\s){0,4}[\"']?(?:\\\\|"
    r"//)[\w.-]{1,80}(?:@\w{1,5}){0,2}[\\/][^\s`|]{1,200}"
    r"|\b(?:cmstp|ieexec|presentationhost|odbcconf|pcalua|hh|julia|Rscript|emacs)(?:\.exe)?[ \t\x1f](?:[-/]\S{1,60}\s){0,4}[^\s]{0,40}https?://[^\s`|]{3,300}|\bms-appinstaller:\?source=https?://\S{3,300}"
    r"|\bapply\s+from:\s{0,4}[\"']?https?://[^\s\"'`]{3,300}|\bimport\s{0,4}\(\s{0,4}(?:builtins\.)?fetch(?:Tarball|url|Git)\b[^\n]{0,200}"
    r"|\brundll32(?:\.exe)?[ \t\x1f][^\n\x1e]{0,400}?https?://[^\s`|]{1,300}"
    r"|\bn?vim?\s(?:-\S{1,20}\s){0,6}(?:\S{1,60}\s){0,3}?(?:-c|--cmd|\+)\s{0,2}:?(?:source|so|e|edit|r|read)\s[^\s]{0,4}https?://[^\s`;|)]{1,300}"
    r"|\bfetch\([^\s]{1,200}\)\.then[^\n]{0,100}\.then\(eval\b",
    re.IGNORECASE,
)
