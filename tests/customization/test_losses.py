"""What overrides and overlays lose by a change of their base: attack and control for each rule, and the rules as a law
(DECISIONS Overrides 20)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rye.customization.effective_text import Effective, effective, reader
from rye.customization.item_overrides import OverrideSource
from rye.customization.losses import override_losses
from rye.customization.overlay_health import Overlaid, overlay_losses
from rye.customization.overlays import Overlay, StepOverride, apply_overlay
from rye.customization.recheck import check_overrides
from rye.errors import RyeError
from rye.items.formula.model import Step
from rye.items.identity import Identity
from rye.items.location import Location
from rye.items.reading import ReadOptions
from tests.customization.override_text import directive
from tests.scenes.directive_text import directive as directive_text
from tests.scenes.effort import tries

HEAD = '---\nagent: sage\nbase-version: "1.0.0"\nlast-reviewed: "2026-01-01"\n---\n\n'
SKILL = "---\nname: sage\ndescription: Says what is wise.\n{fields}---\n\n# Sage\n\n{body}"

CHECK, SEND = Step(id="check"), Step(id="send")


def skill(body: str, fields: str = "") -> str:
    return SKILL.format(body=body, fields=fields)


def judged(base: str, *overrides: str) -> Effective:
    files = [
        OverrideSource("project", Path(f"{number}.overrides.md"), f"{number}.overrides.md", HEAD + "\n".join([text]))
        for number, text in enumerate(overrides)
    ]
    return effective(base, files, reader(Location("skill", "sage", ""), "SKILL.md", ReadOptions()), name="sage")


def lost(before: str, after: str, *overrides: str) -> list[str]:
    return [loss.what for loss in override_losses(judged(before, *overrides), judged(after, *overrides))]


RULES = "## Rules\n\nSend mail.\n"
NEVER = directive("append", "## Rules", "Never send mail.")


class TestDirectives:
    @pytest.mark.parametrize("operation", ["append", "prepend", "insert-before", "insert-after", "replace"])
    def test_a_heading_that_goes_takes_what_was_said_there(self, operation: str) -> None:
        said = directive(operation, "## Rules", "Never send mail.")
        what, *back = lost(skill(RULES), skill("## Advice\n\nSend mail.\n"), said)
        assert "has no effect" in what
        assert back == (["what it took out of the text is back"] if operation == "replace" else [])
        assert lost(skill(RULES), skill("## More\n\nText.\n\n" + RULES), said) == []

    def test_a_removal_that_hits_nothing_any_more(self) -> None:
        what, back = lost(skill(RULES), skill("## Advice\n\nSend mail.\n"), directive("replace", "## Rules"))
        assert what.startswith("removal '## Rules'")
        assert back == "what it took out of the text is back"

    def test_a_loss_of_no_weight_hides_no_other(self) -> None:
        """The author gives away a note, and brings back what was taken out."""
        said = directive("append", "## Style", "Write shortly.") + "\n" + directive("replace", "## Rules", "## Rules")
        before, after = RULES + "\n## Style\n\nPlain.\n", RULES + "\n## Advice\n\nSend mail.\n"
        found = override_losses(judged(skill(before), said), judged(skill(after), said))
        assert [loss.what.partition(" has")[0] for loss in found] == [
            "append '## Style'",
            "what it took out of the text is back",
        ]
        assert found[1].text == ("Send mail.",)

    def test_what_the_item_says_itself_now_is_not_lost(self) -> None:
        replaced = directive("replace", "## Rules", "## Rules\n\nNever send mail.")
        assert lost(skill(RULES), skill("## Rules\n\nNever send mail.\n"), replaced) == []

    def test_a_file_that_is_refused_as_a_whole(self) -> None:
        said = directive("frontmatter-set", content="Bash, Read", key="allowed-tools")
        before, after = skill(RULES, "allowed-tools: Bash, Read, Write\n"), skill(RULES, "allowed-tools: Read\n")
        first, second = lost(before, after, said + "\n" + NEVER)
        assert "refused with the whole file" in first
        assert second.startswith("append '## Rules' is refused")
        assert lost(before, skill(RULES, "allowed-tools: Bash, Read\n"), said + "\n" + NEVER) == []

    @pytest.mark.parametrize("opened", ["<!--\n", "```text\n", "~~~\n", "<script>\n"])
    def test_what_is_left_open_swallows_nothing_silently(self, opened: str) -> None:
        (what,) = lost(skill(RULES), skill(RULES + "\n" + opened), NEVER)
        assert "comment or code block" in what
        closed = {"<!--\n": "-->\n", "<script>\n": "</script>\n"}.get(opened, opened[:3] + "\n")
        assert lost(skill(RULES), skill(RULES + "\n" + opened + "x\n" + closed), NEVER) == []

    def test_a_second_section_of_the_name_is_not_replaced(self) -> None:
        replaced = directive("replace", "## Rules", "## Rules\n\nNever send mail.")
        (what,) = lost(skill(RULES), skill("## Rules\n\nx\n\n## Rules\n\nSend much mail.\n"), replaced)
        assert "only the first" in what
        assert lost(skill(RULES), skill("## Rules\n\nx\n\n## Rules\n\nSend much mail.\n"), NEVER) == []

    def test_what_was_taken_out_is_back_under_another_heading(self) -> None:
        replaced = directive("replace", "## Rules", "## Rules\n\nNever send mail.")
        (what,) = lost(skill(RULES), skill(RULES + "\n## More\n\nSend mail.\n"), replaced)
        assert what == "what it took out of the text is back"
        assert lost(skill(RULES), skill(RULES + "\n## More\n\nOther words.\n"), replaced) == []

    def test_the_user_s_and_the_project_s_file_count_each(self) -> None:
        more = directive("append", "## Rules", "Never call.")
        assert len(lost(skill(RULES), skill("Text.\n"), NEVER, more)) == 2

    def test_what_never_had_an_effect_is_not_lost(self) -> None:
        before, after = skill("Text.\n"), skill("Other text.\n")
        assert lost(before, after, NEVER) == []
        assert lost(before, skill(RULES), NEVER) == []

    def test_if_the_text_until_now_is_not_known_every_directive_counts(self) -> None:
        assert override_losses(None, judged(skill(RULES), NEVER)) == ()
        assert len(override_losses(None, judged(skill("Text.\n"), NEVER))) == 1


AGENT = "---\nname: sage\nwhenToUse: Always\ntransitions:\n  onSuccess: complete\n---\n\n# Sage\n\n{}"
AGENT = AGENT.format("## System Prompt\n\nYou judge.\n")
CONSTRAINTS = "### Constraints\n\nBe kind.\n"
DIRECTIVE_RULES = "## Rules\n\nKeep.\n\n"


class TestWhatAgentsRead:
    """A line that stays in the file, in a part that no agent reads, is lost like one that goes."""

    @staticmethod
    def lost(kind: str, before: str | None, after: str, said: str) -> list[str]:
        """What a customization of the item ``acme/work/sage`` loses."""
        file = OverrideSource("project", Path("sage.overrides.md"), "sage.overrides.md", HEAD + said)
        identity = Identity(kind, "acme/work/sage" if kind == "directive" else "acme/sage")
        old, new = (check_overrides(text, [file], identity) if text is not None else None for text in (before, after))
        assert new is not None
        return [loss.what for loss in override_losses(old, new)]

    @pytest.mark.parametrize("apart", ["\n## Notes\n\n", "\n---\n\n"])
    def test_an_agent_s_prompt_that_ends_before_it(self, apart: str) -> None:
        never = directive("append", "### Constraints", "Never approve alone.")
        before = f"{AGENT}\n{CONSTRAINTS}"
        (what,) = self.lost("agent", before, f"{AGENT}{apart}{CONSTRAINTS}", never)
        assert what.endswith("agents do not read")
        assert self.lost("agent", before, f"{AGENT}\nJudge well.\n\n{CONSTRAINTS}", never) == []

    def test_an_agent_s_first_section_of_that_name_that_is_no_prompt(self) -> None:
        never = directive("append", "### Constraints", "Never approve alone.")
        earlier = AGENT.replace("## System", f"## Notes\n\n{CONSTRAINTS}\n## System")
        assert self.lost("agent", f"{AGENT}\n{CONSTRAINTS}", f"{earlier}\n{CONSTRAINTS}", never)

    def test_a_directive_s_title_that_comes_below_it(self) -> None:
        never = directive("append", "## Rules", "Never on Fridays.")
        text = directive_text("work/sage")
        before = text.replace("```xml", f"{DIRECTIVE_RULES}## Definition\n\n```xml", 1)
        assert self.lost("directive", text + f"\n{DIRECTIVE_RULES}", before, never) == []
        (what,) = self.lost("directive", before, DIRECTIVE_RULES + text, never)
        assert what.endswith("agents do not read")

    def test_an_item_that_is_new_here_loses_only_what_has_no_line_there(self) -> None:
        text = f"{AGENT}\n## Notes\n\nBy hand.\n"
        assert self.lost("agent", None, text, directive("append", "## Notes", "More."))
        assert self.lost("agent", None, text, directive("append", "## System Prompt", "More.")) == []

    def test_an_input_that_it_names_and_the_item_no_longer_declares(self) -> None:
        """Rendering would ask for a value that no declared input takes."""
        named = directive("append", "## Rules", "Never send {input:service}.")
        plain = directive_text("work/sage") + f"\n{DIRECTIVE_RULES}"

        def declares(name: str) -> str:
            declared = f'<inputs><input name="{name}" type="string" required="true">Which</input></inputs><outputs>'
            return plain.replace("<outputs>", declared)

        (what,) = self.lost("directive", declares("service"), declares("app"), named)
        assert "does not fit any more" in what
        assert "{input:service}" in what
        assert self.lost("directive", declares("service"), declares("service").replace("Which", "What"), named) == []
        assert self.lost("directive", plain, declares("app"), named) == []  # it did not fit before

    def test_what_agents_never_read_is_not_lost(self) -> None:
        text = f"{AGENT}\n## Notes\n\nBy hand.\n"
        newer = text.replace("By hand", "By heart")
        assert self.lost("agent", text, newer, directive("append", "## Notes", "More.")) == []


class TestOverlays:
    OVERLAY = Overlay((StepOverride("check", "append", "Never skip.", 3), StepOverride("send", "skip", None, 8)))

    def lost(
        self, before: tuple[Step, ...] | None, after: tuple[Step, ...], *, overlay: Overlay = OVERLAY
    ) -> list[str]:
        until_now = self.overlaid(before, overlay) if before is not None else None
        return [loss.what for loss in overlay_losses("ship.toml", overlay, until_now, self.overlaid(after, overlay))]

    def overlaid(self, steps: tuple[Step, ...], overlay: Overlay, *variables: str) -> Overlaid:
        return Overlaid(steps, apply_overlay(steps, overlay).steps, frozenset(variables))

    def test_entries_whose_step_goes(self) -> None:
        (loss,) = overlay_losses(
            "ship.toml",
            self.OVERLAY,
            self.overlaid((CHECK, SEND), self.OVERLAY),
            self.overlaid((Step(id="verify"), SEND), self.OVERLAY),
        )
        assert (loss.line, loss.text) == (3, ("Never skip.",))
        assert self.lost((CHECK, SEND), (CHECK, SEND, Step(id="more"))) == []

    def test_entries_that_were_stale_are_not_lost_again(self) -> None:
        assert self.lost((SEND, Step(id="more")), (SEND, Step(id="more"))) == []
        assert len(self.lost(None, (SEND, Step(id="more")))) == 1

    def test_a_formula_that_has_no_steps_any_more_loses_all(self) -> None:
        refused = RyeError("overlay-without-steps", "It renders no steps.")
        before = self.overlaid((CHECK, SEND), self.OVERLAY)
        assert len(overlay_losses("ship.toml", self.OVERLAY, before, refused)) == 2
        assert overlay_losses("ship.toml", self.OVERLAY, Overlaid(), refused) == ()

    @pytest.mark.parametrize("part", ["title", "description", "acceptance"])
    def test_what_a_step_said_that_was_skipped_comes_back_in_another_one(self, part: str) -> None:
        """The step keeps its id and says something harmless."""
        said: dict[str, Any] = {part: "Send it to everybody."}
        send, again = (Step(id=name, **said) for name in ("send", "post"))
        empty = Step(id="send", description="Nothing to do.")
        assert self.lost((CHECK, send), (CHECK, empty, again)) == ["what it took out of the steps is back"]
        assert self.lost((CHECK, send), (CHECK, empty)) == []
        assert self.lost((CHECK, send), (CHECK, Step(id="send", description="Send it to all."))) == []

    def test_what_a_step_said_that_was_replaced_comes_back_in_another_one(self) -> None:
        report = Overlay((StepOverride("send", "replace", "Report it here.", 3),))
        before = (CHECK, Step(id="send", description="Post it.\nThen wait."))
        after = (Step(id="check", description="Then wait."), SEND)
        assert self.lost(before, after, overlay=report) == ["what it took out of the steps is back"]
        assert self.lost(before, before, overlay=report) == []

    def test_a_variable_that_an_entry_names_goes(self) -> None:
        named = Overlay((StepOverride("send", "append", "Never send {{version}}.", 3),))
        before, after = (self.overlaid((CHECK, SEND), named, name) for name in ("version", "release"))
        (loss,) = overlay_losses("ship.toml", named, before, after)
        assert loss.what.endswith("{{version}}")
        assert overlay_losses("ship.toml", named, after, after) == ()
        assert overlay_losses("ship.toml", named, before, before) == ()


# -- the law -----------------------------------------------------------------------------------------------------------

_BLOCKS = st.sampled_from(
    [
        *(f"## {name}\n\n{name} {number}.\n" for name in ("One", "Two", "Three") for number in (1, 2)),
        "### Part\n\nA part.\n",
        "Plain words.\n",
        "```text\n## One\n```\n",
        "<!-- ## Two -->\n",
        "<!--\n",
        "```\n",
    ]
)
_TEXTS = st.lists(_BLOCKS, max_size=6).map("\n".join).map(skill)
_TARGETS = st.sampled_from(["## One", "## Two", "## Three", "### Part", "## Two > ### Part"])
_OPERATIONS = st.sampled_from(["append", "prepend", "insert-before", "insert-after", "replace"])
_SAID = st.integers(0, 5).map("Rule {}: never send mail.".format)


@st.composite
def _overrides(draw: st.DrawFn) -> str:
    made = draw(st.lists(st.tuples(_OPERATIONS, _TARGETS, _SAID), min_size=1, max_size=4))
    return "\n".join(
        directive(operation, target, f"{said} ({at})") for at, (operation, target, said) in enumerate(made)
    )


def _rules(text: str) -> set[str]:
    return {line for line in text.split("\n") if line.startswith("Rule ")}


@settings(max_examples=tries(120, 4_000), deadline=None)
@given(_TEXTS, _TEXTS, _overrides())
def test_a_rule_never_leaves_the_text_unasked_and_nothing_is_asked_where_all_stays(
    old: str, new: str, said: str
) -> None:
    """The oracle knows only the two texts, not how they were merged."""
    before, after = judged(old, said), judged(new, said)
    losses = override_losses(before, after)
    if _rules(before.text) - _rules(after.text):
        assert losses
    assert override_losses(before, before) == ()
    opened = any(line in ("<!--", "```") for line in new.split("\n"))
    if "DIRECTIVE: replace" not in said and not opened and _rules(before.text) <= _rules(after.text):
        assert losses == ()
