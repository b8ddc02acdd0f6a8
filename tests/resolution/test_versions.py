"""Versions (SemVer 2.0.0) and the algebra of version sets, with one test class for each group of laws."""

from __future__ import annotations

from itertools import pairwise

import pytest
import semver
from hypothesis import given, settings
from hypothesis import strategies as st

from rye.errors import UsageError
from rye.resolution.ranges import Range
from rye.resolution.versions import Version, VersionSet
from tests.scenes.effort import tries

settings.register_profile("laws", max_examples=tries(60, 3_000), deadline=None)
laws = settings.get_profile("laws")

NUMBERS = st.integers(min_value=0, max_value=3)
IDENTIFIERS = st.sampled_from(["0", "1", "2", "10", "a", "b", "a-b", "rc", "A", "-", "0a"])
PRERELEASES = st.lists(IDENTIFIERS, max_size=3).map(".".join)
VERSIONS = st.builds(Version.of, NUMBERS, NUMBERS, NUMBERS, st.one_of(st.just(""), PRERELEASES))
ATOMS = st.one_of(
    st.just(VersionSet.everything()),
    st.just(VersionSet.nothing()),
    VERSIONS.map(VersionSet.exactly),
    VERSIONS.map(VersionSet.at_least),
    VERSIONS.map(VersionSet.above),
    VERSIONS.map(VersionSet.below),
    VERSIONS.map(VersionSet.at_most),
)
SETS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda pair: pair[0] | pair[1]),
        st.tuples(inner, inner).map(lambda pair: pair[0] & pair[1]),
        inner.map(lambda one: ~one),
    ),
    max_leaves=8,
)


class TestVersion:
    @pytest.mark.parametrize(
        "text",
        [
            "0.0.0",
            "1.2.3",
            "1.0.0-alpha",
            "1.0.0-alpha.1",
            "1.0.0-0.3.7",
            "1.0.0-x-y-z.--",
            "1.0.0+001",
            "1.0.0-a+b.c",
            "9223372036854775807.0.0",
        ],
    )
    def test_reads_and_writes_what_semver_allows(self, text: str) -> None:
        assert str(Version.parse(text)) == text

    @pytest.mark.parametrize(
        "text",
        ["", "1", "1.2", "1.2.3.4", "v1.2.3", "=1.2.3", " 1.2.3", "1.2.3\n", "01.2.3", "1.02.3", "1.2.03", "1.2.3-", "1.2.3-01",
         "1.2.3-a..b",
         "1.2.3+", "1.2.3+a+b", "1.2.3-é", "1.2.3_a", "-1.2.3", "1.2.x", "१.2.3",
         "9223372036854775808.0.0", "1.2.3-" + "a" * 260],
    )  # fmt: skip
    def test_refuses_everything_else(self, text: str) -> None:
        with pytest.raises(UsageError) as raised:
            Version.parse(text)
        assert raised.value.code == "bad-version"
        assert raised.value.hint

    def test_a_hostile_length_is_refused_and_not_repeated(self) -> None:
        with pytest.raises(UsageError) as raised:
            Version.parse("9" * 1_000_000)
        assert len(raised.value.message) < 200

    def test_the_order_of_the_specification(self) -> None:
        """SemVer 2 §11.4's own example."""
        texts = [
            "1.0.0-alpha",
            "1.0.0-alpha.1",
            "1.0.0-alpha.beta",
            "1.0.0-beta",
            "1.0.0-beta.2",
            "1.0.0-beta.11",
            "1.0.0-rc.1",
            "1.0.0",
        ]
        assert all(Version.parse(low) < Version.parse(high) for low, high in pairwise(texts))

    def test_build_metadata_has_no_part_in_order_or_equality(self) -> None:
        one, other = Version.parse("1.2.3+a"), Version.parse("1.2.3+b")
        assert one == other
        assert hash(one) == hash(other)
        assert not one < other
        assert str(one) != str(other)

    @settings(laws)
    @given(VERSIONS, VERSIONS)
    def test_agrees_with_the_semver_library(self, one: Version, other: Version) -> None:
        expected = semver.Version.parse(str(one)).compare(str(other))
        assert (one > other) - (one < other) == expected
        assert (one == other) == (expected == 0)
        assert (one <= other, one >= other) == (expected <= 0, expected >= 0)
        assert Version.parse(str(one)) == one


class TestMembership:
    @settings(laws)
    @given(VERSIONS, VERSIONS)
    def test_bounds_mean_what_they_say(self, bound: Version, version: Version) -> None:
        assert (version in VersionSet.exactly(bound)) == (version == bound)
        assert (version in VersionSet.at_least(bound)) == (version >= bound)
        assert (version in VersionSet.above(bound)) == (version > bound)
        assert (version in VersionSet.below(bound)) == (version < bound)
        assert (version in VersionSet.at_most(bound)) == (version <= bound)
        assert version in VersionSet.everything()
        assert version not in VersionSet.nothing()

    @settings(laws)
    @given(SETS, SETS, VERSIONS)
    def test_operations_act_on_members(self, a: VersionSet, b: VersionSet, version: Version) -> None:
        assert (version in a | b) == (version in a or version in b)
        assert (version in a & b) == (version in a and version in b)
        assert (version in a - b) == (version in a and version not in b)
        assert (version in ~a) == (version not in a)


class TestBooleanAlgebra:
    @settings(laws)
    @given(SETS, SETS)
    def test_commutative(self, a: VersionSet, b: VersionSet) -> None:
        assert a | b == b | a
        assert a & b == b & a

    @settings(laws)
    @given(SETS, SETS, SETS)
    def test_associative_and_distributive(self, a: VersionSet, b: VersionSet, c: VersionSet) -> None:
        assert (a | b) | c == a | (b | c)
        assert (a & b) & c == a & (b & c)
        assert a & (b | c) == (a & b) | (a & c)
        assert a | (b & c) == (a | b) & (a | c)

    @settings(laws)
    @given(SETS, SETS)
    def test_absorption_and_idempotence(self, a: VersionSet, b: VersionSet) -> None:
        assert a | (a & b) == a & (a | b) == a | a == a & a == a

    @settings(laws)
    @given(SETS)
    def test_identity_and_domination(self, a: VersionSet) -> None:
        nothing, everything = VersionSet.nothing(), VersionSet.everything()
        assert a | nothing == a & everything == a
        assert a & nothing == nothing
        assert a | everything == everything


class TestComplement:
    @settings(laws)
    @given(SETS)
    def test_excluded_middle(self, a: VersionSet) -> None:
        assert a | ~a == VersionSet.everything()
        assert a & ~a == VersionSet.nothing()
        assert ~~a == a

    @settings(laws)
    @given(SETS, SETS)
    def test_de_morgan_and_difference(self, a: VersionSet, b: VersionSet) -> None:
        assert ~(a | b) == ~a & ~b
        assert ~(a & b) == ~a | ~b
        assert a - b == a & ~b

    def test_of_the_bounds(self) -> None:
        version = Version.parse("1.2.3")
        assert ~VersionSet.at_least(version) == VersionSet.below(version)
        assert ~VersionSet.at_most(version) == VersionSet.above(version)
        assert ~VersionSet.everything() == VersionSet.nothing()
        assert VersionSet.below(Version.parse("0.0.0-0")).is_empty()


class TestSubset:
    @settings(laws)
    @given(SETS, SETS)
    def test_is_what_union_and_intersection_say(self, a: VersionSet, b: VersionSet) -> None:
        assert a.is_subset(b) == (a | b == b) == (a & b == a) == (a - b).is_empty()
        assert a.is_subset(~b) == (a & b).is_empty() == b.is_subset(~a)

    @settings(laws)
    @given(SETS, SETS, SETS)
    def test_is_a_partial_order(self, a: VersionSet, b: VersionSet, c: VersionSet) -> None:
        assert a <= a
        assert a & b <= a <= a | b
        assert not (a <= b and b <= a) or a == b
        assert not (a <= b and b <= c) or a <= c


class TestCanonicalForm:
    @settings(laws)
    @given(SETS, SETS)
    def test_equal_sets_have_equal_forms(self, a: VersionSet, b: VersionSet) -> None:
        same = (a - b).is_empty() and (b - a).is_empty()
        assert (a == b) == same
        assert not same or (hash(a), str(a)) == (hash(b), str(b))
        assert all(low < high for low, high in pairwise(a.cuts))

    @settings(laws)
    @given(VERSIONS)
    def test_the_next_version_leaves_no_gap(self, version: Version) -> None:
        assert VersionSet.below(version) | VersionSet.exactly(version) == VersionSet.at_most(version)
        assert VersionSet.at_least(version) - VersionSet.exactly(version) == VersionSet.above(version)

    @settings(laws)
    @given(SETS)
    def test_the_text_reads_back_as_the_same_set(self, a: VersionSet) -> None:
        """Except for pre-releases of 0.0.0: npm reads ``>=0.0.0`` as ``*``, which includes them."""
        first = VersionSet.prereleases_of(0, 0, 0)
        assert Range.parse(str(a)).versions - first == a - first

    @pytest.mark.parametrize(
        ("text", "shown"),
        [(">=1.2.3 <2.0.0-0", "^1.2.3"), ("^0.2.3", "^0.2.3"), ("~1.2.3", "~1.2.3"), ("1.x", "^1.0.0"),
         (">=1 <3.4", ">=1.0.0 <3.4"),
         ("<=1.2.3", "<=1.2.3"), (">1.2.3", ">1.2.3"), ("1.2.3", "1.2.3"), ("^1 || >=3", "^1.0.0 || >=3.0.0"),
         ("*", "*"), ("<0.0.0-0", "<0.0.0-0"),
         ("<1.2.3", "<1.2.3"), (">=1.2.3-rc.1", ">=1.2.3-rc.1"), ("1 || 2", "^1.0.0 || ^2.0.0")],
    )  # fmt: skip
    def test_the_text_is_what_people_write(self, text: str, shown: str) -> None:
        assert str(Range.parse(text).versions) == shown
