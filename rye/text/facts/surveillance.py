"""``surveillance``: what the user types, copies, sees or mails is recorded, and sent to somebody or copied to them.

A listener for keys, or a rule that forwards mail, is a caution, and so is a program that sends the screen or the clipboard. It is
an alarm if what a listener hears is sent, if a command sends the clipboard or the screen (the commands that send secrets,
:mod:`rye.text.facts.exfiltration`), or if a sentence has every mail copied to an address. A picture that a test takes is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from rye.text.facts import shell
from rye.text.facts.calls import window_of
from rye.text.facts.calls.following import NAMES, Followed
from rye.text.facts.calls.kinds import Kind
from rye.text.facts.environment import sends_in
from rye.text.facts.exfiltration.commands import Leak
from rye.text.facts.exfiltration.own_functions import connections_in
from rye.text.facts.exfiltration.sentences import SENTENCE, is_negated, paragraph
from rye.text.facts.fact import ALARM, SURVEILLANCE
from rye.text.facts.shell import plain, shown
from rye.text.facts.source import Origin, RuleMatch, Source
from rye.text.facts.tables import Spellings, triggers, word_set

#: Programs that print the clipboard, or take a picture of the screen, of the camera or a sound.
_PASTES: Final = word_set("pbpaste xclip xsel wl-paste get-clipboard osascript")
_CAPTURES: Final = word_set(
    "screencapture scrot gnome-screenshot grim maim spectacle imagesnap fswebcam arecord import ffmpeg nircmd flameshot xwd"
)
_COMMANDS: Final = Spellings(
    {
        **{
            word: (word,)
            for word in ("pbpaste", "xclip", "xsel", "screencapture", "scrot", "maim", "imagesnap", "fswebcam")
        },
        **{word: (f"{word} ",) for word in ("grim", "spectacle", "arecord", "flameshot", "xwd")},
        "paste": ("wl-paste",),
        "clipboard": ("get-clipboard", "the clipboard"),
        "gnome": ("gnome-screenshot",),
        "import": ("-window root",),
        "nircmd": ("savescreenshot",),
        "ffmpeg": ("x11grab", "avfoundation", "gdigrab", "dshow", "v4l2", "-f pulse", "-f alsa"),
    }
)
_RECORDS = re.compile(r"\b(?:x11grab|avfoundation|gdigrab|dshow|v4l2|pulse|alsa)\b")
_SENDING_WORDS: Final = triggers(
    "curl wget nc ncat netcat requests fetch axios httpx urllib urlopen smtplib socket webhook post scp rclone "
    "restmethod webrequest "
    "sendbeacon mail http https websocket ws"
)
_CALL_WORDS: Final = triggers(
    "pynput keyboard getasynckeystate setwindowshookex setwindowshookexa setwindowshookexw cgeventtapcreate evdev "
    "iohook uiohook logkeys "
    "addeventlistener imagegrab pyautogui mss copyfromscreen desktopcapturer pyperclip readtext clipboard keylogger xinput"
)
#: What hears every key, whichever program is in front.
_LISTENS = re.compile(
    r"\bpynput\.keyboard\b|\bfrom\s+pynput(?:\.keyboard)?\s+import\b[^\n]{0,60}\b(?:keyboard|Listener)\b|"
    r"(?<![\w.])keyboard\.(?:on_press|on_release|hook|record|read_event|start_recording)\(|\bGetAsyncKeyState\b|"
    r"\bSetWindowsHookEx[AW]?\b[^\n]{0,80}(?:WH_KEYBOARD|13\b)|\bCGEventTapCreate\b|/dev/input/event\w|\bInputDevice\([^\n]{0,60}/dev/input|"
    r"\b(?:iohook|uiohook-napi|node-global-key-listener)\b|\blogkeys\s+(?:--start|-s)\b|\bxinput\s+test\b"
)
#: What takes a picture of the screen, or reads the clipboard.
_TAKES: Final = Kind(
    re.compile(
        r"\bImageGrab\.grab\w{0,12}\(|\bpyautogui\.screenshot\(|\bmss\.mss\(|\.CopyFromScreen\(|\bdesktopCapturer\.getSources\(|"
        r"\bpyperclip\.paste\(|\bclipboard\.readText\(|\bGet-Clipboard\b|\bclipboard\.paste\(|\bclipboardy\.read\w{0,5}\("
    ),
    frozenset(),
)
_EACH = re.compile(
    r"\b(?:every|each|all|any|always|whenever|when(?:ever)?\s+(?:you|the)|before\s+(?:you|each)|outgoing|incoming|as\s+a\s+rule)\b",
    re.IGNORECASE,
)
_ADDRESS = re.compile(r"[\w.+-]{1,60}@[\w-]{1,40}(?:\.[\w-]{1,40}){0,4}\.[a-z]{2,12}\b", re.IGNORECASE)
#: A copy that the others do not see, and mail that goes on by itself.
_COPIES_MAIL = re.compile(
    r"\bbcc(?:'?ed)?\b|\b(?:blind|hidden|silent|secret)(?:ly)?[- ](?:carbon[- ])?cop(?:y|ies|ied)\b|"
    r"\bforward(?:s|ing|ed)?\b[^.\n]{0,60}"
    r"\b(?:e-?mails?|messages?|mails?|replies|invoices|inbox)\b|"
    r"\bauto-?forward\w{0,4}|\b(?:forwarding|redirect)\s+(?:rule|filter|address)\b|\b(?:copy|send|relay|redirect)\s+(?:every|all|each)\s+(?:\w+\s+){0,2}?(?:e-?mails?|messages?|mails?)\b",
    re.IGNORECASE,
)
#: A rule of a mail server that forwards what arrives.
_FORWARDS = re.compile(
    r"\b(?:New|Set)-InboxRule\b[^\n]{0,200}-(?:ForwardTo|RedirectTo|ForwardAsAttachmentTo|BlindCopyTo)\s|"
    r"\bSet-Mailbox\b[^\n]{0,200}-Forwarding(?:Smtp)?Address\s|\bNew-TransportRule\b[^\n]{0,200}-BlindCopyTo\s|"
    r"\bupdateAutoForwarding\(|\bforwardingAddresses\(\)\.create\(",
    re.IGNORECASE,
)
_FORWARD_WORDS: Final = triggers("inboxrule mailbox transportrule updateautoforwarding forwardingaddresses")
_MAIL_WORDS: Final = triggers("bcc blind forward forwards forwarding forwarded redirect hidden silent inbox mailbox")
#: A sentence that has keys, the screen, the clipboard or what the user writes recorded and sent.
_WATCHES = re.compile(
    r"\b(?:(?:log|record|capture|monitor|watch|collect|take|grab|save|store|keep|copy)(?:s|ing)?\b[^.\n]{0,60}?|(?:send|upload|post|forward|transmit|submit)\b[^.\n]{0,30}?)"
    r"(?:\bkeystrokes?|\bkey\s?presses|\bevery\s+key|\bscreenshots?\s+of\s+the\s+(?:user|desktop|screen)|"
    r"(?<!to the )\bclipboard\b|\bmicrophone\b|\bwebcam\b|"
    r"\b(?:this|our|the\s+user's)\s+(?:whole\s+|entire\s+|full\s+)?(?:conversation|chat|session)\b|"
    r"\b(?:whatever|everything|anything|what|all)\s+(?:that\s+)?the\s+user\s+(?:types?|writes?|says?|enters?|pastes?))"
    r"[^\n]{0,160}?(?:\b(?:send|upload|post|forward|transmit|e-?mail|submit)(?:s|ing)?\b[^.\n]{0,60}?|\bto\s+[`<]?)"
    r"(?:https?://(?!localhost|127\.)[\w.-]|[\w.+-]{1,60}@[\w-]{1,40}(?:\.[\w-]{1,40}){0,4}\.[a-z]{2,12}\b)",
    re.IGNORECASE,
)
_REPEATS = re.compile(
    r"\bthe\s+user\s+(?:types?|writes?|says?|enters?|pastes?|sends?)\b[^.\n]{0,60}?\b(?:send|post|upload|forward|transmit|e-?mail|submit|copy)\s+(?:it|them|that|the\s+\w+|a\s+copy)\b"
    r"[^.\n]{0,40}?\b(?:to|at)\s+[`<]?(?:https?://(?!localhost|127\.)[\w.-]|[\w.+-]{1,60}@[\w-]{1,40}(?:\.[\w-]{1,40}){0,4}\.[a-z]{2,12}\b)",
    re.IGNORECASE,
)
#: The screen, the microphone or the camera, again and again or unseen.
_LISTENS_ON = re.compile(
    r"\b(?:capture|record|take|grab|turn\s+on|switch\s+on|listen|activate|stream)\b[^.\n]{0,40}?\b(?:screens?|desktop|screenshots?|display|microphone|audio|webcam|camera)\b"
    r"[^.\n]{0,80}?\b(?:send|upload|post|forward|transmit|e-?mail|submit|stream)\b[^.\n]{0,60}?"
    r"(?:https?://(?!localhost|127\.)[\w.-]|[\w.+-]{1,60}@[\w-]{1,40}(?:\.[\w-]{1,40}){0,4}\.[a-z]{2,12}\b)",
    re.IGNORECASE,
)
_AGAIN = re.compile(
    r"\bevery\s+(?:\w+\s+)?(?:seconds?|minutes?|hours?)\b|\bcontinuous\w{0,4}|\bin\s+the\s+background\b|\bsilently\b|\bsecretly\b|\bwithout\s+(?:asking|telling)\b|\blive\b|\bturn\s+on\b|\bwhile\s+the\s+user\b",
    re.IGNORECASE,
)
_WATCH_WORDS: Final = triggers(
    "screen desktop audio camera keystroke keystrokes keypresses presses presses screenshot screenshots clipboard "
    "microphone webcam types writes pastes "
    "conversation chat session"
)
_LONGEST: Final = 1_000
_MOST: Final = 64


def find(source: Source) -> Iterator[RuleMatch]:
    """Yield what records or copies what the user does, each once per line."""
    if source.has(_CALL_WORDS):
        yield from _in_programs(source)
    if source.has(_SENDING_WORDS) and _COMMANDS.marks_in(source.words, source.lowered):
        yield from Leak(source, SURVEILLANCE, _COMMANDS.words, _recorded).followed(set())
    for number in source.lines_with(_FORWARD_WORDS):
        match = _FORWARDS.search(source.lines[number][:_LONGEST])
        if match is not None:
            yield RuleMatch(SURVEILLANCE, shown(plain(match[0])), number, match.start())
    if "@" in source.text:
        yield from _copied(source)
    if source.markdown and source.has(_SENDING_WORDS):
        yield from _said(source)


def _copied(source: Source) -> Iterator[RuleMatch]:
    """A sentence that has each mail copied to an address, and a program that always does."""
    for number in source.lines_with(_MAIL_WORDS):
        raw = source.lines[number][:_LONGEST]
        if source.is_code(number):
            match = _BCC_IN_CODE.search(raw) if not source.markdown else None
            if match is not None:
                yield RuleMatch(SURVEILLANCE, shown(plain(raw.strip())), number, match.start())
            continue
        if _COPIES_MAIL.search(raw) is None:
            continue
        text, begin = paragraph(source, number)
        for sentence in SENTENCE.finditer(text):
            said = sentence[0]
            if (
                (match := _COPIES_MAIL.search(said)) is not None
                and (_EACH.search(said) is not None or "auto" in said.lower())
                and _ADDRESS.search(said) is not None
                and not is_negated(said)
            ):
                yield RuleMatch(
                    SURVEILLANCE,
                    shown(plain(said.strip())),
                    number,
                    max(0, sentence.start() + match.start() - begin),
                    ALARM,
                )
                break


_BCC_IN_CODE = re.compile(r"\b[bB][cC][cC][\"']?\]?\s{0,4}[:=]\s{0,4}\[?\s{0,4}[\"'][\w.+-]{1,60}@")


def _said(source: Source) -> Iterator[RuleMatch]:
    """A sentence that has what the user does recorded and sent."""
    for number in source.lines_with(_WATCH_WORDS):
        raw = source.lines[number][:_LONGEST]
        if ("@" not in raw and "://" not in raw) or source.is_code(number):
            continue
        match = (
            _WATCHES.search(raw)
            or _REPEATS.search(raw)
            or (_LISTENS_ON.search(raw) if _AGAIN.search(raw) is not None else None)
        )
        if match is not None and not is_negated(raw[: match.end()].rpartition(". ")[2]):
            yield RuleMatch(SURVEILLANCE, shown(plain(match[0])), number, match.start(), ALARM)


def _recorded(command: shell.Command, _: str) -> Origin | None:
    """What a command takes of the clipboard, the screen, the camera or the microphone."""
    first = shell.head(command)
    if first < 0:
        return None
    texts = command.texts()
    name = shell.program(texts[first])
    arguments = texts[first + 1 :]
    if name in _PASTES:
        reads = name in ("pbpaste", "wl-paste", "get-clipboard") or any(
            text.startswith(("-o", "--output", "-b", "--clipboard", "-selection")) for text in arguments
        )
        prints = any(text in ("-o", "-out", "--output", "-bo", "-ob") for text in arguments)
        if name in ("xclip", "xsel") and not prints:
            reads = False
        if name == "osascript":
            reads = "clipboard" in arguments and "set" not in arguments
        return Origin(shown(" ".join(texts)), 0, 0) if reads and (command.before is None or name == "pbpaste") else None
    if name not in _CAPTURES:
        return None
    said = " ".join(arguments)
    if (name == "import" and "-window root" not in said) or (name == "ffmpeg" and _RECORDS.search(said) is None):
        return None
    after = [value for option, value in pairwise(arguments) if option in ("-f", "-o", "-out")]
    files = [text for text in arguments if not text.startswith("-") and ("." in text or "/" in text or "$" in text)]
    return Origin(shown(" ".join(texts)), 0, 0, tuple({*after, *files[-1:]}))


def _in_programs(source: Source) -> Iterator[RuleMatch]:
    text = source.text
    sends = sends_in(text)
    connections = connections_in(text)
    if connections is not None:
        sends += connections.finditer(text)
    lines = {source.line_at(match.start()) for match in sends}
    for match in _LISTENS.finditer(text):
        number = source.line_at(match.start())
        if source.is_code(number):
            level = ALARM if _near(source, number, lines) else ""
            yield RuleMatch(
                SURVEILLANCE, shown(plain(match[0])), number, match.start() - source.text_starts[number], level
            )
    for match in _KEY_EVENTS.finditer(text) if "addEventListener" in text and sends else ():
        window = window_of(text, match.end())
        number = source.line_at(match.start())
        inside = any(match.end() <= sent.start() < match.end() + len(window) for sent in sends)
        if inside and "://" in window and _KEY.search(window) is not None and source.is_code(number):
            value = shown(plain(match[0] + window))
            yield RuleMatch(SURVEILLANCE, value, number, match.start() - source.text_starts[number], ALARM)
    taken = [match.start() for match in _TAKES.pattern.finditer(text)][:_MOST] if sends else []
    if not taken:
        return
    followed = Followed(source, _TAKES, taken, False)
    pictures = _pictures(source, set(followed.names.words), {source.line_at(at) for at in taken})
    for match in sends:
        window = window_of(text, match.end())
        inside = any(match.end() <= at < match.end() + len(window) for at in taken)
        names = any(followed.names.at(name, match.start()) for name in NAMES.findall(window))
        files = [file for file in (*followed.files, *pictures) if "." in file and file in window]
        if inside or names or files:
            number = source.line_at(match.start())
            value = shown(plain(match[0].lstrip() + window))
            yield RuleMatch(SURVEILLANCE, value, number, match.start() - source.text_starts[number])


_KEY_EVENTS = re.compile(r"\baddEventListener\(\s*[\"'`]key(?:down|press|up)[\"'`]")
_KEY = re.compile(r"\.(?:key|code|keyCode|which)\b")


def _pictures(source: Source, names: set[str], lines: set[int]) -> set[str]:
    """The files of pictures that are named where a program takes one, or uses what it took."""
    pictures: set[str] = set()
    for number, raw in enumerate(source.lines):
        if "." in raw and len(raw) < _LONGEST and (number in lines or not names.isdisjoint(NAMES.findall(raw))):
            pictures.update(_PICTURE.findall(raw))
    return pictures


_PICTURE = re.compile(r"[\"'`]([^\"'`\n]{1,200}\.(?:png|jpe?g|webp|bmp|gif))[\"'`]")


def _near(source: Source, number: int, lines: set[int]) -> bool:
    """Whether something is sent in the same program: in the same block of a page, or the same file."""
    if not source.markdown:
        return bool(lines)
    return any(begun <= number < end and begun <= line < end for _, begun, end in source.blocks for line in lines)
