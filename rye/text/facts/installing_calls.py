"""``unpinned-fetch`` without a command line: what a program installs by a call, and code that a model's loader fetches.

``pip.main(["install", name])`` is read as the command line that it is. Other calls name a package and nothing else, one row each.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from rye.text.facts import packages
from rye.text.facts.fact import UNPINNED_FETCH
from rye.text.facts.shell import shown
from rye.text.facts.source import RuleMatch, Source

#: Calls that get the words of a command line: the program, words that come first, and the form.
_COMMAND_LINES: Final = tuple(
    (tool, first, re.compile(pattern))
    for tool, first, pattern in (
        (
            "pip",
            (),
            r"\b(?:pip(?:\._internal(?:\.cli\.main)?)?\.main|pipmain|pip_main)\(\s{0,8}\[([^\]\n]{1,300})\]",
        ),
        ("pip", (), r"\bsys\.argv\s{0,4}=\s{0,4}\[\s{0,4}[\"']pip3?[\"']\s{0,4},([^\]\n]{1,300})\]"),
        ("pip", ("install",), r"\bmicropip\.install\(\s{0,8}\[?([^\])\n]{1,300})[\])]"),
    )
)
_NAME: Final = r"[\"']([\w./:@-]{1,160})[\"']"
_OF_GITHUB: Final = r"(?:remotes|devtools|pak|BiocManager)::(?:install_\w{2,12}|pkg_install|pak|install)"
#: Calls that get a name, and how the page shows them: R, Julia, Ruby, Perl, PowerShell, Emacs, Groovy, Lua, models.
_BY_NAME: Final = tuple(
    (shown_as, re.compile(pattern, re.MULTILINE))
    for shown_as, pattern in (
        ("install.packages", rf"\binstall\.packages\(\s{{0,8}}(?:c\()?\s{{0,4}}{_NAME}"),
        ("install_github", rf"\b{_OF_GITHUB}\(\s{{0,8}}(?:c\()?\s{{0,4}}{_NAME}"),
        ("Pkg.add", rf"\bPkg\.(?:add|develop)\(\s{{0,8}}(?:url\s{{0,2}}=\s{{0,2}})?{_NAME}\s{{0,4}}\)"),
        ("Gem.install", rf"\bGem\.install[( ]\s{{0,4}}{_NAME}\s{{0,4}}(?:\)|$)"),
        ("CPAN install", r"\bCPAN(?:::Shell)?->install\(?\s{0,4}[\"']?([\w:.-]{1,80})[\"']?"),
        (
            "cpan",
            r"\bcpanm?[ \t]+(?:-\S{1,20}[ \t]+){0,3}([A-Z]\w{0,40}(?:::\w{1,40}){1,6})(?![\w@~])",
        ),
        (
            "Install-Module",
            (
                r"(?i:\bInstall-(?:Module|Script|PSResource)[ \t]+(?:-(?:Name|Scope[ \t]+\w+|Force|AllowClobber)[ \t]+){0,4}"
                r"([A-Za-z][\w.]{1,80})(?![^\n;|]{0,120}-RequiredVersion))"
            ),
        ),
        ("package-install", r"\(package-install[ \t]+'([\w-]{1,60})\)"),
        ("@Grab", r"@Grab\(\s{0,4}[\"']([\w.:-]{3,120}:(?:\+|latest[\w.]{0,20}|\[[^\]\n]{0,20}))[\"']"),
        (
            "luarocks install",
            r"\bluarocks[ \t]+(?:--\S{1,20}[ \t]+){0,2}install[ \t]+([\w-]{1,60})(?![ \t]+\d)(?=[ \t]*(?:$|[;&|`]))",
        ),
        ("torch.hub.load", r"\btorch\.hub\.load\(\s{0,8}[\"']([\w.-]{1,60}/[\w./-]{1,100})[\"']"),
        (
            "trust_remote_code",
            (
                r"\bfrom_pretrained\(\s{0,20}(?![\"'][./])([\w\"'./-]{1,120})(?=[^()]{0,300}\btrust_remote_code\s{0,2}=\s{0,2}True)"
                r"(?![^()]{0,400}\brevision\s{0,2}=)"
            ),
        ),
    )
)
#: What a text with such a call has, by a word of it.
_SPELLINGS: Final = {
    b"pip": ("pip.main(", "pip._internal", 'argv = ["pip', "argv = ['pip", 'argv=["pip'),
    b"pipmain": ("pipmain(",),
    b"pip_main": ("pip_main(",),
    b"micropip": ("micropip.install(",),
    b"packages": ("install.packages(",),
    **dict.fromkeys((b"remotes", b"devtools", b"pak", b"biocmanager"), ("::install", "::pkg_install", "::pak(")),
    b"pkg": ("Pkg.add(", "Pkg.develop("),
    b"gem": ("Gem.install",),
    b"cpan": ("->install", "cpan "),
    b"cpanm": ("cpanm ",),
    b"module": ("nstall-Module ", "nstall-module "),
    b"script": ("nstall-Script ",),
    b"psresource": ("nstall-PSResource ",),
    b"package": ("(package-install ",),
    b"grab": ("@Grab(",),
    b"luarocks": ("luarocks ",),
    b"torch": ("torch.hub.load(",),
    b"trust_remote_code": ("trust_remote_code",),
}
_QUOTES: Final = "\"'"
#: An argument: a string, or a name.
_ARGUMENT = re.compile(r"[\"']([^\"'\n]{1,120})[\"']|([A-Za-z_]\w{0,60})")


def find(source: Source) -> Iterator[RuleMatch]:
    """Yield what a call installs without an exact version."""
    text = source.text
    words = _SPELLINGS.keys() & source.words
    if not any(mark in text for word in words for mark in _SPELLINGS[word]):
        return
    for tool, first, pattern in _COMMAND_LINES:
        for match in pattern.finditer(text):
            given = (word or source.values.get(name, f"${name}") for word, name in _ARGUMENT.findall(match[1]))
            for value in packages.unpinned(tool, [*first, *given], source.files):
                yield _at(source, match, value)
    for shown_as, pattern in _BY_NAME:
        for match in pattern.finditer(text):
            number = source.line_at(match.start())
            if source.is_code(number) or "`" in source.lines[number]:
                yield _at(source, match, f"{shown_as} {match[1].strip(_QUOTES)}")


def _at(source: Source, match: re.Match[str], value: str) -> RuleMatch:
    line = source.line_at(match.start(1))
    return RuleMatch(UNPINNED_FETCH, shown(value), line, match.start(1) - source.text_starts[line])
