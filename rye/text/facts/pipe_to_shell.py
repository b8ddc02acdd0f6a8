"""``pipe-to-shell``: something is fetched and run, directly or after being saved. Nothing counts unless something is fetched."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from rye.text.facts import calls, fetchers, shell
from rye.text.facts.across import across
from rye.text.facts.fact import PIPE_TO_SHELL
from rye.text.facts.flow.passes import Flow
from rye.text.facts.shell import shown
from rye.text.facts.source import Origin, RuleMatch, Source
from rye.text.facts.tables import triggers, word_set

#: Very common words that fetch something only in the spellings below.
_COMMON: Final = word_set(
    "fetch http https get gh aws webclient httpclient rundll32 perl php ruby python python3 node deno bun openssl links "
    "finger add git svn hg ipfs kubectl redis-cli host "
    "net mount sshfs mount_webdav s3fs curlftpfs "
    "consul etcdctl vault gcloud az mc npm yarn pnpm psql mysql mongosh mongo docker podman nerdctl nats ntfy glab"
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
    (
        (
            b"gh api ",
            b"gh gist view",
            b"gh release download",
        ),
        triggers(("gh",)),
    ),
    ((b"aws s3 ",), triggers(("aws",))),
    ((b"links http", b"links -"), triggers(("links",))),
    ((b"deno run ", b"bun run ", b"deno install "), triggers(("deno", "bun"))),
    ((b"s_client",), triggers(("openssl",))),
    ((b"@",), triggers(("finger",))),
    ((b"add http", b"add --"), triggers(("add",))),
    ((b"fetch_head", b"git show ", b"git archive ", b"git cat-file "), triggers(("git",))),
    ((b"://", b"/ipfs/", b" cat "), triggers(("svn", "hg", "ipfs"))),
    ((b"jsonpath", b"go-template"), triggers(("kubectl",))),
    ((b" get ",), triggers(("redis", "consul", "etcdctl", "vault"))),
    ((b"storage cat", b"storage cp", b"mc cat", b"blob download", b"mc pipe"), triggers(("gcloud", "az", "mc"))),
    (
        (b"npm view", b"npm info", b"npm show", b"yarn info", b"pnpm view", b"pnpm info"),
        triggers(("npm", "yarn", "pnpm")),
    ),
    (
        (b"psql -h", b"psql post", b"mysql -h", b"mongosh ", b"mongo mongodb"),
        triggers(("psql", "mysql", "mongosh", "mongo")),
    ),
    ((b"nats ", b"ntfy sub", b"glab api", b"glab snippet"), triggers(("nats", "ntfy", "glab"))),
    ((b"net use ",), triggers(("net",))),
    (
        (b"mount -t ", b"sshfs ", b"psdrive ", b"mount_webdav ", b"s3fs ", b"curlftpfs "),
        triggers("mount sshfs psdrive mount_webdav s3fs curlftpfs"),
    ),
    ((b" txt ",), triggers(("host", "dnsname", "resolvectl"))),
)


_DOCKER: Final = triggers("docker podman nerdctl")
_SHELLS: Final = triggers("sh bash zsh dash")
_DOCKER_PIPED = re.compile(r"(?:docker|podman|nerdctl) run [^\n|]{1,300}\|[ \t]{0,4}(?:sudo )?(?:ba|z|da)?sh\b")
_LANGUAGES: Final = triggers("python python3 node nodejs perl php ruby deno bun lua")
#: Words of code that fetches, on the command line of a language.
_CODE_WORDS: Final = triggers(
    "urlopen urlretrieve file_get_contents uri requests httpx http https fetch axios lwp urllib copy getstore mirror "
    "fopen curl_init readfile "
    "mojo socket create_connection open_uri faraday dns resolvetxt pycurl wget webclient"
)


def find(source: Source) -> Iterator[RuleMatch]:
    """Yield every place where something fetched is run."""
    yield from find_in_commands(source)
    yield from calls.find(source, calls.FETCHED, PIPE_TO_SHELL)


def find_in_commands(source: Source) -> Iterator[RuleMatch]:
    """Yield every place where commands run something fetched."""
    words = _words(source)
    if source.has(words):
        passed = Flow(source, PIPE_TO_SHELL, words, _fetches)
        yield from passed.run()
        source.saved[PIPE_TO_SHELL].update(passed.kept.files)
    launchers = _SELF_RUNNING_WORDS
    for spellings, more in _LAUNCHER_SPELLINGS:
        if source.has(more) and any(spelling in source.lowered for spelling in spellings):
            launchers |= more
    if "start \\\\" in source.text or "start //" in source.text:
        launchers |= triggers(("start",))
    if source.has(launchers) and ("://" in source.text or "\\\\" in source.text):
        for line in source.logical_lines(launchers):
            for match in _SELF_RUNNING.finditer(line.text):
                if not line.code and match[0].split()[0].istitle() and not match[0].startswith("Rscript"):
                    continue  # the name of a language: ``[Julia](https://…)``
                yield RuleMatch(PIPE_TO_SHELL, shown(match[0]), *source.place(line, match.start(), match[0].split()[0]))


def _words(source: Source) -> frozenset[bytes]:
    """The words of the lines that can bring something in."""
    words = _TRIGGERS
    if source.has(_DOCKER) and source.has(_SHELLS) and _DOCKER_PIPED.search(source.text) is not None:
        words |= _DOCKER
    for spellings, more in _SPELLINGS:
        if source.has(more) and any(spelling in source.lowered for spelling in spellings):
            words |= more
    if source.has(_LANGUAGES) and source.has(_CODE_WORDS) and source.has_code_on_a_command_line(_LANGUAGES):
        words |= _LANGUAGES
    return words


def find_across(sources: Sequence[Source]) -> Iterator[tuple[Source, RuleMatch]]:
    """Yield what one file of the item fetches and another runs."""
    return across(sources, PIPE_TO_SHELL, _words, _fetches)


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
    "appinstaller apply fetchtarball deno bun then vim nvim vi cscript wscript installutil jbang kscript javaws streamlit "
    "papermill k6 "
    "wasmer zinit antigen amm scala getline"
)
#: Common words, each with the strings that the text must contain for them to run an address.
_LAUNCHER_SPELLINGS: Final = (
    ((b"uv run ", b"uv.exe run ", b"pipx run "), triggers(("uv", "pipx"))),
    ((b"groovy -", b"groovy http"), triggers(("groovy",))),
    ((b"marimo edit ", b"marimo run ", b"marimo new"), triggers(("marimo",))),
    ((b"task --taskfile", b"task -t "), triggers(("task",))),
)
#: Programs that run what an address names, with their first words. A package or an archive that is installed is unpinned-fetch.
_LAUNCHERS: Final = (
    r"(?:deno\s+(?:serve|test|bench|install|compile|x)|uv(?:\.exe)?\s+run|(?:uvx\s+)?pipx\s+run|jbang|groovy|kscript|amm|scala(?:-cli)?|javaws|"
    r"streamlit\s+run|marimo\s+(?:edit|run)|papermill|k6\s+run|wasmer\s+run|task|zinit\s+(?:snippet|load)|antigen\s+bundle)"
)
_SELF_RUNNING = re.compile(
    rf"\b{_LAUNCHERS}[ \t\x1f](?:-\S{{1,60}}\s(?:(?!https?:)[\w.@][\w.,@=<>~!+-]{{0,59}}\s)?|run\s){{0,8}}[\"']?https?://(?!localhost|127\.)"
    r"[\w$%\[{][^\s`;|)]{0,300}"
    r"|\b(?:mshta|regsvr32|msiexec|deno\s+run|bun\s+run)(?:\.exe)?[ \t\x1f](?:-\S{1,60}\s|/\S{1,20}\s){0,6}[^\s\x1e]{0,10}https?://[\w$%\[{][^\s`;|)]{0,300}"
    r"|\b(?:rundll32|regsvr32|mshta|msiexec|cscript|wscript|start|installutil|control|"
    r"cmd(?:\.exe)?\s/c)(?:\.exe)?[ \t\x1f](?:[-/\"]\S{0,20}\s){0,4}[\"']?(?:\\\\|"
    r"//)[\w.-]{1,80}(?:@\w{1,5}){0,2}[\\/][^\s`|]{1,200}"
    r"|\b(?:cmstp|ieexec|presentationhost|odbcconf|pcalua|(?<!-\w )(?<!-\w\w )hh|julia|Rscript|emacs)(?:\.exe)?[ \t\x1f](?:[-/]\S{1,60}\s){0,4}[^\s]{0,40}https?://[^\s`|]{3,300}|\bms-appinstaller:\?source=https?://\S{3,300}"
    r"|\bapply\s+from:\s{0,4}[\"']?https?://[^\s\"'`]{3,300}|\bimport\s{0,4}\(\s{0,4}(?:builtins\.)?fetch(?:Tarball|url|Git)\b[^\n]{0,200}"
    r"|\brundll32(?:\.exe)?[ \t\x1f][^\n\x1e]{0,400}?https?://[^\s`|]{1,300}"
    r"|\bn?vim?\s(?:-\S{1,20}\s){0,6}(?:\S{1,60}\s){0,3}?(?:-c|--cmd|\+)\s{0,2}:?(?:source|so|e|edit|r|read)\s[^\s]{0,4}https?://[^\s`;|)]{1,300}"
    r"|\bawk\b[^\n\x1e]{0,200}?(?:curl|wget)\s[^\n\x1e]{1,200}?getline[^\n\x1e]{0,200}?(?:system|\bsh\b)"
    r"|\bn?vim?\b[^\n\x1e]{0,200}?!\s?(?:curl|wget)\s[^\n\x1e]{1,200}?!\s?(?:ba|z|da)?sh\b"
    r"|\bfetch\([^\s]{1,200}\)\.then[^\n]{0,100}\.then\(eval\b",
    re.IGNORECASE,
)
