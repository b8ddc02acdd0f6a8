"""Find the directive's fence, and enforce R12: no process inside it or before it."""

from __future__ import annotations

from rye.items.directive.process import tags
from rye.items.directive.rules import Findings
from rye.items.directive.xml_document import sniff_root
from rye.text.markdown_blocks import may_be_too_deep, scan
from rye.text.markdown_model import Blocks, Fence

PROCESS_PLACE = (
    "Move it after the fence; the fence holds only metadata, inputs and outputs. `rye validate --fix` does this."
)


def scan_to_fence(text: str) -> Blocks:
    """Return the blocks down to the directive's fence; all blocks if those below it could make a difference.

    Only two things below the fence do: a second fence whose root is ``<directive>``, and nesting too deep to read.
    """
    scanned = scan(text, until="xml")
    below = scanned.read_to
    if below < len(text) and (
        text.find("<directive", below) >= 0 or text.find(":directive", below) >= 0 or may_be_too_deep(text, below)
    ):
        return scan(text)
    return scanned


def the_fence(scanned: Blocks, findings: Findings) -> Fence | None:
    """Return the directive's own fence; if there is none, report D001, D002, D008 or D009 and return None."""
    fences = [fence for fence in scanned.fences if fence.word == "xml"]
    if not fences:
        unlabelled = next((fence for fence in scanned.fences if sniff_root(fence.text) == "directive"), None)
        if unlabelled is not None:
            message = f"There is no `xml` fence; the fence on line {unlabelled.line} holds a `<directive>` but lacks that word."
            findings.add("error", "D001", message, unlabelled.line, unlabelled.column, "Open it with ```xml.")
        else:
            hint = "Put the `<directive>` element in a fenced code block that opens with ```xml."
            findings.add("error", "D001", "There is no `xml` fence, so there is no directive.", None, None, hint)
        return None
    first, *later = fences
    root = sniff_root(first.text)
    if root != "directive":
        shown = f"holds `<{root[:80]}>`" if root else "holds no element"
        hint = "Put the directive's fence first; mark examples before it with another info word, such as `text`."
        findings.add(
            "error", "D002", f"The first `xml` fence {shown}, not `<directive>`.", first.line, first.column, hint
        )
        return None
    if not first.closed:
        message = "The directive's fence is never closed, so it swallows the rest of the file."
        findings.add(
            "error", "D009", message, first.line, first.column, "Close it with the same marker on a line of its own."
        )
    for fence in later:
        if sniff_root(fence.text) == "directive":
            message = f"A second `xml` fence holds a `<directive>`; the directive's own is on line {first.line}."
            hint = "Delete it. If it is an example, use another info word or a longer fence around it."
            findings.add("error", "D008", message, fence.line, fence.column, hint)
    return first


def process_before(scanned: Blocks, text: str, findings: Findings) -> None:
    """Report R12 for a process above the fence. ``text``: all lines above the fence."""
    if "<process" not in text:
        return
    above = text.split("\n")[:-1]
    for first, last in (*scanned.code_lines, *scanned.comment_lines):
        for number in range(first, min(last, len(above)) + 1):
            above[number - 1] = ""
    for tag in tags("\n".join(above)):
        if tag.name == "process" and not tag.closing:
            findings.error("R12", "`<process>` is before the fence.", tag, PROCESS_PLACE)


def process_in_text(fence: Fence, findings: Findings) -> None:
    """Report R12 for a process that keeps the fence's XML from being parsed at all."""
    if "<process" not in fence.text:
        return
    for tag in tags(fence.text):
        if tag.name == "process" and not tag.closing:
            line, column = fence.place(tag.line, tag.column)
            findings.add("error", "R12", "`<process>` is inside the fence.", line, column, PROCESS_PLACE)
            return
