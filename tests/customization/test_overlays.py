"""Formula overlays: DECISIONS Role directives and formula overlays 2–6, 9, 11."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rye.customization.overlays import (
    Overlay,
    StaleFix,
    StepOverride,
    apply_overlay,
    choose_overlay,
    read_overlay,
    remove_stale,
)
from rye.errors import RyeError
from tests.scenes.shared_data import shared


@dataclass(frozen=True, slots=True)
class Step:
    id: str
    title: str = ""
    description: str = ""
    needs: tuple[str, ...] = ()
    extra: dict[str, object] = field(default_factory=dict, hash=False)


def entry(step_id: str, mode: str, description: str | None = None) -> str:
    text = f'[[step-overrides]]\nstep_id = "{step_id}"\nmode = "{mode}"\n'
    return text + (f'description = """\n{description}"""\n' if description is not None else "")


def overlay(*overrides: StepOverride) -> Overlay:
    return Overlay(overrides)


def skip(*ids: str) -> Overlay:
    return Overlay(tuple(StepOverride(each, "skip") for each in ids))


class TestReading:
    def test_the_three_modes(self) -> None:
        text = entry("a", "replace", "new\n") + "\n" + entry("b", "append", "more") + entry("c", "skip")
        reading = read_overlay(text)
        assert reading.diagnostics == ()
        assert reading.overlay == overlay(
            StepOverride("a", "replace", "new\n", 1),
            StepOverride("b", "append", "more", 8),
            StepOverride("c", "skip", None, 13),
        )

    @pytest.mark.parametrize("data", ["", "# nothing\n", "\ufeff", "step-overrides = []"])
    def test_a_file_may_override_nothing(self, data: str) -> None:
        assert read_overlay(data).overlay == Overlay()

    def test_bom_and_crlf_are_accepted(self) -> None:
        data = ("\ufeff" + entry("a", "skip")).replace("\n", "\r\n").encode()
        assert read_overlay(data).overlay == overlay(StepOverride("a", "skip", None, 1))

    @pytest.mark.parametrize(
        ("text", "code", "hint"),
        [
            (entry("a", "skip").replace("step-over", "step_over"), "unknown-key", "Write [[step-overrides]]."),
            (entry("a", "skip").replace("overrides", "override"), "unknown-key", "Write [[step-overrides]]."),
            ('title = "x"\n' + entry("a", "skip"), "unknown-key", "An overlay holds only [[step-overrides]] tables."),
            (
                entry("a", "skip").replace("step_id", "step-id") + 'step_id = "a"\n',
                "unknown-key",
                "Did you mean 'step_id'?",
            ),
            (entry("a", "append", "x") + 'descripton = "y"\n', "unknown-key", "Did you mean 'description'?"),
            (entry("a", "skip") + "[step-overrides.xyz]\nx = 1\n", "unknown-key", "Keys: step_id, mode, description."),
            (entry("a", "Skip"), "bad-mode", "Did you mean 'skip'?"),
            (entry("a", "delete"), "bad-mode", "Modes: replace, append, skip."),
            (entry("a", "replace"), "missing-key", None),
            (entry("a", "append", ""), "missing-key", None),
            (entry("", "skip"), "missing-key", "Name the step that it changes."),
            ('[[step-overrides]]\nmode = "skip"\n', "missing-key", "Name the step that it changes."),
            ('[[step-overrides]]\nstep_id = "a"\n', "missing-key", "Modes: replace, append, skip."),
            ('[[step-overrides]]\nstep_id = 1\nmode = "skip"\n', "bad-entry", None),
            (
                '[step-overrides]\nstep_id = "a"\nmode = "skip"\n',
                "bad-entry",
                "Write [[step-overrides]] with two brackets.",
            ),
            ("step-overrides = [1]", "bad-entry", "Write [[step-overrides]] with two brackets."),
            ("[[step-overrides]\n", "malformed-toml", None),
            ("a = " + "[" * 100_000, "malformed-toml", None),
        ],
    )
    def test_everything_else_is_an_error(self, text: str, code: str, hint: str | None) -> None:
        reading = read_overlay(text)
        assert reading.overlay is None
        assert (reading.diagnostics[0].severity, reading.diagnostics[0].code, reading.diagnostics[0].hint) == (
            "error",
            code,
            hint,
        )

    def test_errors_name_the_line(self) -> None:
        assert [d.line for d in read_overlay(entry("a", "skip") + "\n" + entry("b", "no")).diagnostics] == [7]
        malformed = read_overlay("a = 1\nb = = 2\n").diagnostics[0]
        assert (malformed.line, malformed.column) == (2, 5)

    def test_bytes_that_are_not_utf8(self) -> None:
        assert [d.code for d in read_overlay(b"\xff").diagnostics] == ["unreadable"]


class TestChoosing:
    def test_neither_one_or_both(self) -> None:
        user, project = entry("u", "skip"), entry("p", "skip")
        assert choose_overlay(None, None).source is None
        assert (choose_overlay(user, None).source, choose_overlay(user, None).hides_user) == ("user", False)
        both = choose_overlay(user, project)
        assert (both.source, both.overlay, both.hides_user) == ("project", read_overlay(project).overlay, True)

    def test_an_empty_project_file_switches_the_users_off_and_says_so(self) -> None:
        choice = choose_overlay(entry("u", "skip"), "# nothing\n")
        assert (choice.source, choice.overlay) == ("project", Overlay())
        assert [d.severity for d in choice.diagnostics] == ["warning"]
        assert "disables the user's overlay" in choice.diagnostics[0].message

    def test_a_malformed_project_file_never_falls_back(self) -> None:
        choice = choose_overlay(entry("u", "skip"), "[[")
        assert (choice.source, choice.overlay) == ("project", None)
        assert choice.diagnostics[0].severity == "error"

    def test_a_malformed_user_file_that_is_hidden_is_not_read(self) -> None:
        assert choose_overlay("[[", entry("p", "skip")).diagnostics == ()


class TestApplying:
    def test_replace_append_and_skip(self) -> None:
        steps = (Step("a", "A", "one"), Step("b", "B", "two", ("a",), {"x": 1}), Step("c", "C", "", ("b",)))
        result = apply_overlay(
            steps,
            overlay(
                StepOverride("b", "replace", "new"),
                StepOverride("b", "append", "more"),
                StepOverride("c", "append", "added"),
                StepOverride("a", "skip"),
            ),
        )
        assert result.steps == (Step("b", "B", "new\nmore", (), {"x": 1}), Step("c", "C", "\nadded", ("b",)))
        assert result.warnings == ()
        assert result.applied == ('replace "b"', 'append "b"', 'append "c"', 'skip "a"')

    def test_an_unknown_step_is_a_warning_and_a_skipped_one_is_unknown(self) -> None:
        stale = 'overlay references unknown step "{}" (stale override)'
        result = apply_overlay((Step("a"), Step("b")), skip("x", "a", "a"))
        assert result.warnings == (stale.format("x"), stale.format("a"))
        assert [step.id for step in result.steps] == ["b"]

    def test_every_occurrence_is_replaced_and_duplicates_go(self) -> None:
        steps = (
            Step("a"),
            Step("b"),
            Step("s", needs=("a", "b")),
            Step("t", needs=("b", "s", "a", "s")),
            Step("u", needs=("a", "a")),
        )
        result = apply_overlay(steps, skip("s"))
        assert {step.id: step.needs for step in result.steps} == {"a": (), "b": (), "t": ("b", "a"), "u": ("a", "a")}

    def test_a_formula_without_steps_takes_no_overlay(self) -> None:
        for kind in ("convoy", "expansion", "aspect"):
            with pytest.raises(RyeError) as raised:
                apply_overlay((Step("a"),), Overlay(), formula_type=kind)
            assert raised.value.code == "overlay-without-steps"

    def test_an_overlay_that_leaves_no_step_is_an_error(self) -> None:
        with pytest.raises(RyeError) as raised:
            apply_overlay((Step("a"), Step("b")), skip("a", "b"))
        assert raised.value.code == "overlay-leaves-no-step"

    @settings(max_examples=60, deadline=None)
    @given(st.data())
    def test_skips_in_any_order_give_the_same_needs_and_none_dangles(self, data: st.DataObject) -> None:
        count = data.draw(st.integers(2, 8))
        ids = [f"s{i}" for i in range(count)]
        steps = tuple(
            Step(name, needs=tuple(data.draw(st.lists(st.sampled_from(ids[:i]), max_size=5)) if i else ()))
            for i, name in enumerate(ids)
        )
        skipped = data.draw(st.lists(st.sampled_from(ids), unique=True, max_size=min(4, count - 1)))
        results = {apply_overlay(steps, skip(*order)).steps for order in permutations(skipped)}
        assert len(results) == 1
        left = results.pop()
        assert {need for step in left for need in step.needs} <= {step.id for step in left}

    def test_many_skips_stay_fast(self) -> None:
        steps = tuple(Step(f"s{i}", needs=tuple(f"s{j}" for j in range(max(0, i - 20), i))) for i in range(2000))
        result = apply_overlay(steps, skip(*(f"s{i}" for i in range(1, 1999))))
        assert result.steps == (Step("s0"), Step("s1999", needs=("s0",)))


class TestFixing:
    TEXT = (
        "# head\n\n# about gone\n[[step-overrides]] # x\nstep_id = \"gone\"\n# inside\nmode = 'replace'\n"
        'description = """\n[[step-overrides]]\n# no comment \\"""\n""""\n\n# about kept\n[[ step-overrides ]]\n'
        "step_id   = 'kept'\nmode = \"append\"\ndescription = '''a # b'''  # why\n# end"
    )

    def test_only_the_stale_entries_lines_go(self) -> None:
        fix = remove_stale(self.TEXT, {"kept"})
        assert fix.removed == ("gone",)
        assert fix.text == (
            "# head\n\n# about gone\n# inside\n\n# about kept\n[[ step-overrides ]]\n"
            "step_id   = 'kept'\nmode = \"append\"\ndescription = '''a # b'''  # why\n# end"
        )
        assert remove_stale(fix.text, {"kept"}).text == fix.text

    def test_bom_and_crlf_stay(self) -> None:
        text = "\ufeff" + (entry("gone", "skip") + entry("kept", "skip")).replace("\n", "\r\n")
        fixed = remove_stale(text, {"kept"}).text
        assert fixed == entry("kept", "skip").replace("\n", "\r\n")

    def test_nothing_stale_changes_nothing_and_all_stale_leaves_nothing(self) -> None:
        assert remove_stale(self.TEXT, {"gone", "kept"}) == StaleFix(self.TEXT, ())
        assert remove_stale(self.TEXT, set()).text is None
        assert remove_stale("# nothing\n", set()).text == "# nothing\n"

    def test_malformed_files_and_inline_entries_are_left_to_the_person(self) -> None:
        for text, code in [
            ("[[", "malformed-overlay"),
            (entry("a", "no"), "malformed-overlay"),
            (
                'step-overrides = [{step_id = "a", mode = "skip"}, {step_id = "b", mode = "skip"}]',
                "overlay-fix-by-hand",
            ),
        ]:
            with pytest.raises(RyeError) as raised:
                remove_stale(text, {"a"})
            assert raised.value.code == code

    @settings(max_examples=60, deadline=None)
    @given(
        st.lists(st.tuples(st.sampled_from("abcd"), st.text("ab#\"'\\[]= \n", max_size=12)), max_size=6),
        st.sets(st.sampled_from("abcd")),
    )
    def test_fix_after_fix_is_a_no_op_and_keeps_what_is_known(
        self, entries: list[tuple[str, str]], known: set[str]
    ) -> None:
        def quoted(text: str) -> str:
            escaped = text.replace("\\", "\\\\").replace('"', '\\"')
            return f'"""{escaped}"""'

        text = "".join(
            f'# {i}\n[[step-overrides]]\nstep_id = "{name}"\nmode = "append"\ndescription = {quoted("x" + body)}\n\n'
            for i, (name, body) in enumerate(entries)
        )
        fix = remove_stale(text, known)
        if fix.text is None:
            assert entries
            assert not {name for name, _ in entries} & known
            return
        assert remove_stale(fix.text, known).text == fix.text
        kept = [e for e in tomllib.loads(text).get("step-overrides", []) if e["step_id"] in known]
        assert tomllib.loads(fix.text).get("step-overrides", []) == kept
        comments = [line for line in fix.text.split("\n") if line.startswith("# ") and line[2:].isdigit()]
        assert comments == [f"# {i}" for i in range(len(entries))]


@pytest.mark.corpus
def test_a_real_overlay_on_a_real_formula() -> None:
    folder: Path = shared("corpus/gastown")
    formula = tomllib.loads((folder / "formulas/mol-polecat-work.formula.toml").read_text(encoding="utf-8"))
    steps = tuple(Step(s["id"], s["title"], s["description"], tuple(s.get("needs", ()))) for s in formula["steps"])
    text = (folder / "overlay-mol-polecat-work.toml").read_text(encoding="utf-8")
    reading = read_overlay(text)
    assert reading.overlay is not None
    result = apply_overlay(steps, reading.overlay)
    assert result.warnings == ()
    assert result.steps[:-1] == steps[:-1]
    assert result.steps[-1].description == steps[-1].description + "\n" + (
        reading.overlay.overrides[0].description or ""
    )
    assert "**PR-flow addendum (rig override):**" in result.steps[-1].description
    assert remove_stale(text, {step.id for step in steps}).text == text
    assert remove_stale(text, {"other"}).text is None
