"""All verdicts, for every kind and comment style, after every sort of change (DESIGN §4)."""

from __future__ import annotations

import csv
import time
from collections.abc import Callable
from datetime import timedelta
from functools import cache

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rye.errors import RyeError
from rye.signing.keys import PrivateKey, PublicKey, read_public_key
from rye.signing.sign_item import sign, sign_bytes, unsigned_text
from rye.signing.signature_line import (
    MARKDOWN,
    FoundLine,
    SignatureLine,
    content_hash,
    encode_signature,
    find,
    insert,
    layout_of,
)
from rye.signing.verification import Verification, verify
from tests.scenes.effort import rest_thorough, tries
from tests.scenes.shared_data import shared
from tests.signing.samples import IDS, NOW, SAMPLES, Sample

EXAMPLES = tries(250, 20_000)
KEY = PrivateKey(bytes(range(32)))
OTHER = PrivateKey(bytes(32))
TIME = "2026-03-01T12:30:05Z"
every_sample = pytest.mark.parametrize("sample", SAMPLES, ids=IDS)


@cache
def signed_sample(name: str) -> str:
    (sample,) = (sample for sample in SAMPLES if sample.name == name)
    return sign(sample.text, sample.kind, sample.file_name, KEY, NOW)


def judge(text: str | bytes, kind: str = "directive", name: str = "a.md", *trusted: PublicKey) -> Verification:
    data = text.encode() if isinstance(text, str) else text
    return verify(data, kind, name, trusted or (KEY.public,))


def check(sample: Sample, text: str | bytes) -> str:
    return judge(text, sample.kind, sample.file_name).verdict


def line_over(hashed: str, key: PrivateKey = KEY, key_id: str | None = None) -> SignatureLine:
    digest = content_hash(hashed)
    return SignatureLine(TIME, digest, key.sign(digest.encode()), key_id or key.public.key_id)


class TestSigning:
    @every_sample
    def test_a_signed_file_is_valid_as_a_whole(self, sample: Sample) -> None:
        found = judge(signed_sample(sample.name), sample.kind, sample.file_name)
        assert (found.verdict, found.ok, found.coverage) == ("valid", True, "whole file")
        assert (found.key, found.key_id) == (KEY.public, KEY.public.key_id)

    @every_sample
    def test_the_line_stands_where_it_belongs_and_nothing_else_changed(self, sample: Sample) -> None:
        lines = signed_sample(sample.name).split("\n")
        assert lines.pop(sample.line - 1).startswith(sample.prefix + f"rye:signed:{TIME}:")
        assert "\n".join(lines) == sample.text
        assert unsigned_text(signed_sample(sample.name), layout_of(sample.kind, sample.file_name)) == sample.text

    @every_sample
    def test_signing_an_unchanged_file_again_changes_nothing(self, sample: Sample) -> None:
        later = NOW + timedelta(days=400)
        assert sign(signed_sample(sample.name), sample.kind, sample.file_name, KEY, later) == signed_sample(sample.name)

    @every_sample
    def test_a_change_another_key_or_a_placeholder_is_signed_anew_in_one_line(self, sample: Sample) -> None:
        layout = layout_of(sample.kind, sample.file_name)
        signed = signed_sample(sample.name)
        marker = signed.split("\n")[sample.line - 1]
        placeholder = signed.replace(
            marker[len(sample.prefix) :].removesuffix(" -->"), f"rye:signed:{TIME}:placeholder:unsigned:unsigned"
        )
        for text, key in ((signed + "# more\n", KEY), (signed, OTHER), (placeholder, KEY)):
            again = sign(text, sample.kind, sample.file_name, key, NOW)
            assert again.count("rye:signed:") == 1
            assert again != text
            assert judge(again, sample.kind, sample.file_name, key.public).verdict == "valid"
            assert unsigned_text(again, layout) == unsigned_text(text, layout)

    def test_a_line_with_a_provider_suffix_that_is_still_good_stays(self) -> None:
        signed = signed_sample("directive").replace(" -->", "|reg@leo -->", 1)
        assert sign(signed, "directive", "a.md", KEY, NOW) == signed

    def test_older_misplaced_and_later_lines_are_replaced(self) -> None:
        rest = "---\nname: facts\n---\nbody\n"
        later = line_over(rest, key_id=KEY.public.later_key_id).render().replace("rye:", "ryeos:")
        for old in (f"<!-- {later} -->\n{rest}", f"<!-- {line_over(rest).render()} -->\n{rest}"):
            assert sign(old, "knowledge", "a.md", KEY, NOW) == sign(rest, "knowledge", "a.md", KEY, NOW)
        partial = insert("# T\n<directive></directive>\n", line_over("<directive></directive>"), MARKDOWN)
        assert judge(partial).verdict == "partial"
        assert judge(sign(partial, "directive", "a.md", KEY, NOW)).verdict == "valid"

    def test_a_broken_line_is_replaced_unless_other_text_stands_on_it(self) -> None:
        broken = signed_sample("directive").replace(TIME, "2026-02-31T00:00:00Z")
        assert sign(broken, "directive", "a.md", KEY, NOW) == signed_sample("directive")
        with pytest.raises(RyeError) as caught:
            sign(signed_sample("directive").replace(" -->", " --> text", 1), "directive", "a.md", KEY, NOW)
        assert caught.value.code == "broken-signature-line"

    @pytest.mark.parametrize("data", [b"a\r\nb\n", b"\xef\xbb\xbfa\n"])
    def test_crlf_and_bom_are_refused_with_the_mending_command(self, data: bytes) -> None:
        """DECISIONS "Every kind" 1."""
        with pytest.raises(RyeError) as caught:
            sign_bytes(data, "directive", "a.md", KEY, NOW)
        assert "rye validate --fix" in (caught.value.hint or "")

    def test_bytes_that_are_not_utf8_are_refused(self) -> None:
        with pytest.raises(RyeError) as caught:
            sign_bytes(b"a\xff", "directive", "a.md", KEY, NOW)
        assert caught.value.code == "unreadable"
        assert sign_bytes(b"a\n", "directive", "a.md", KEY, NOW) == sign("a\n", "directive", "a.md", KEY, NOW).encode()


class TestVerdicts:
    TEXT = signed_sample("directive")

    def test_unsigned_without_a_line_or_with_a_placeholder(self) -> None:
        for text in ("", "# T\n", f"<!-- rye:signed:{TIME}:placeholder:unsigned:unsigned -->\n# T\n"):
            found = judge(text)
            assert (found.verdict, found.ok, found.key_id, found.coverage) == ("unsigned", False, None, None)

    def test_untrusted_when_nobody_is_trusted_or_somebody_else(self) -> None:
        for trusted in ((), (OTHER.public,)):
            found = verify(self.TEXT.encode(), "directive", "a.md", trusted)
            assert (found.verdict, found.key, found.key_id) == ("untrusted", None, KEY.public.key_id)

    def test_modified_when_the_signature_is_good_and_the_content_changed(self) -> None:
        assert judge(self.TEXT + " ").verdict == "modified"

    def test_bad_signature_when_it_is_not_the_keys_own(self) -> None:
        forged = line_over(SAMPLES[0].text, OTHER, KEY.public.key_id)
        assert judge(insert(SAMPLES[0].text, forged, MARKDOWN)).verdict == "bad-signature"
        hashed = self.TEXT.split(":")[5]
        assert judge(self.TEXT.replace(hashed, content_hash("x"))).verdict == "bad-signature"

    def test_a_signature_over_the_digest_instead_of_its_64_characters_is_bad(self) -> None:
        digest = content_hash(SAMPLES[0].text)
        line = SignatureLine(TIME, digest, KEY.sign(bytes.fromhex(digest)), KEY.public.key_id)
        assert judge(insert(SAMPLES[0].text, line, MARKDOWN)).verdict == "bad-signature"

    def test_revoked_whatever_the_content_and_even_when_trusted_too(self) -> None:
        for text in (self.TEXT, self.TEXT + "x"):
            for trusted in ((), (KEY.public,)):
                found = verify(text.encode(), "directive", "a.md", trusted, (KEY.public,))
                assert (found.verdict, found.key, found.coverage) == ("revoked", KEY.public, None)
        forged = insert("x", line_over("x", OTHER, KEY.public.key_id), MARKDOWN)
        assert verify(forged.encode(), "directive", "a.md", (), (KEY.public,)).verdict == "bad-signature"

    def test_revoking_one_key_leaves_the_others(self) -> None:
        assert verify(self.TEXT.encode(), "directive", "a.md", (KEY.public,), (OTHER.public,)).verdict == "valid"

    def test_malformed_lines_and_bytes(self) -> None:
        assert judge(self.TEXT.replace("==:", ":")).verdict == "malformed"
        assert judge(self.TEXT.encode() + b"\xff").verdict == "malformed"

    def test_a_byte_order_mark_before_a_signed_file_is_a_change(self) -> None:
        assert judge("\ufeff" + self.TEXT).verdict == "malformed"
        assert check(SAMPLES[2], "\ufeff" + signed_sample(SAMPLES[2].name)) == "malformed"

    def test_crlf_line_endings_are_no_change_and_a_lone_cr_is(self) -> None:
        assert judge(self.TEXT.replace("\n", "\r\n")).verdict == "valid"
        assert judge(self.TEXT.replace("Deploys", "Deploys\r")).verdict == "modified"
        assert judge(self.TEXT.replace("\n", "\r\r\n")).verdict != "valid"

    def test_a_key_id_only_selects_and_trust_is_in_the_full_key(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Two keys with one 16-hex id: the signature decides between them."""
        monkeypatch.setattr(PublicKey, "key_id", property(lambda self: KEY.public.pem and "0123456789abcdef"))
        text = insert("x\n", line_over("x\n", KEY, "0123456789abcdef"), MARKDOWN)
        assert judge(text, "directive", "a.md", OTHER.public, KEY.public).key == KEY.public
        assert judge(text, "directive", "a.md", OTHER.public).verdict == "bad-signature"

    def test_a_provider_suffix_is_reported_as_unauthenticated_and_proves_nothing(self) -> None:
        for name in ("rye-registry@leo", "rye-registry@mallory"):
            found = judge(self.TEXT.replace(" -->", f"|{name} -->", 1))
            assert (found.verdict, found.as_json()["unauthenticated"]) == ("valid", name)
        unknown = judge(self.TEXT.replace(" -->", "|rye-registry@leo -->", 1), "directive", "a.md", OTHER.public)
        assert unknown.verdict == "untrusted"

    def test_small_order_keys_never_verify_even_when_somebody_trusts_one(self) -> None:
        """With A and R the neutral element and S = 0 the bare equation holds for any content."""
        weak = PublicKey((1).to_bytes(32, "little"))
        line = SignatureLine(TIME, content_hash("x\n"), weak.raw + bytes(32), weak.key_id)
        assert judge(insert("x\n", line, MARKDOWN), "directive", "a.md", weak).verdict == "bad-signature"

    def test_the_json_has_the_stable_fields(self) -> None:
        found = judge(self.TEXT).as_json()
        assert {"verdict", "key", "coverage", "detail"} <= set(found)
        assert found["key"] == KEY.public.key_id


class TestPartial:
    """Fence-only signatures of older files are never valid, and the verdict says what they cover."""

    FENCE = SAMPLES[0].text[SAMPLES[0].text.index("<directive") : SAMPLES[0].text.index("</directive>") + 12]

    def directive(self, text: str) -> Verification:
        return judge(insert(text, line_over(self.FENCE), MARKDOWN))

    def test_a_directive_signed_in_its_fence(self) -> None:
        found = self.directive(SAMPLES[0].text)
        assert (found.verdict, found.ok, found.coverage) == ("partial", False, "from <directive to </directive>")

    def test_everything_outside_can_change_unnoticed_and_nothing_inside(self) -> None:
        text = SAMPLES[0].text
        assert self.directive(text.replace("Run it.", "Run evil.")).verdict == "partial"
        for region in ("<search>", "Deploy</desc", 'version="1.0.0"'):
            assert self.directive(text.replace(region, "x" + region)).verdict == "modified"

    @pytest.mark.parametrize("decoy", ["<directive name='evil'></directive>", "<directive", "</directive>"])
    @pytest.mark.parametrize("where", ["before", "after"])
    def test_a_decoy_before_or_after_is_inside_the_span(self, decoy: str, where: str) -> None:
        text = SAMPLES[0].text
        text = f"{decoy}\n{text}" if where == "before" else f"{text}\n{decoy}\n"
        expected = {("<directive", "after"): "partial", ("</directive>", "before"): "partial"}
        assert self.directive(text).verdict == expected.get((decoy, where), "modified")

    def test_a_tool_signed_without_its_shebang(self) -> None:
        rest = "#!/bin/sh\necho hello\n"
        signed = insert(rest, line_over("echo hello\n"), layout_of("tool", "a.sh"))
        found = judge(signed, "tool", "a.sh")
        assert (found.verdict, found.coverage) == ("partial", "everything but the shebang line")
        assert judge(signed.replace("/bin/sh", "/bin/evil"), "tool", "a.sh").verdict == "partial"
        assert judge(signed.replace("hello", "evil"), "tool", "a.sh").verdict == "modified"

    @pytest.mark.parametrize("suffix", [".py", ".js", ".ts", ".sh", ".yaml"])
    def test_a_shebang_put_above_a_fully_signed_tool_is_not_valid(self, suffix: str) -> None:
        signed = sign("echo = 1\n", "tool", "a" + suffix, KEY, NOW)
        assert judge("#!/bin/evil\n" + signed, "tool", "a" + suffix).verdict == "partial"

    def test_knowledge_signed_without_its_frontmatter_over_the_stripped_rest(self) -> None:
        rest = "---\nname: facts\n---  \n\n# Facts\n\nwet\n\n"
        signed = insert(rest, line_over("# Facts\n\nwet"), MARKDOWN)
        found = judge(signed, "knowledge")
        assert (found.verdict, found.coverage) == ("partial", "everything but the frontmatter")
        assert judge(signed.replace("name: facts", "name: evil"), "knowledge").verdict == "partial"
        assert judge(signed + "\n\n", "knowledge").verdict == "partial"
        assert judge(signed.replace("wet", "dry"), "knowledge").verdict == "modified"

    def test_each_part_belongs_to_its_kind_only(self) -> None:
        fence = insert(SAMPLES[0].text, line_over(self.FENCE), MARKDOWN)
        for kind in ("knowledge", "agent", "role", "skill"):
            assert judge(fence, kind).verdict == "modified"
        front = insert("---\na: 1\n---\nbody\n", line_over("body"), MARKDOWN)
        for kind in ("directive", "agent", "skill"):
            assert judge(front, kind).verdict == "modified"

    def test_open_frontmatter_has_no_rest(self) -> None:
        assert judge(insert("---\na: 1\n", line_over(""), MARKDOWN), "knowledge").verdict == "modified"

    def test_the_later_form_covers_the_whole_content_or_nothing(self) -> None:
        line = line_over(self.FENCE, key_id=KEY.public.later_key_id)
        text = insert(SAMPLES[0].text, line, MARKDOWN)
        assert judge(text).verdict == "modified"


class TestLaterForm:
    REST = "---\nname: facts\n---\n\nbody\n"

    @pytest.mark.parametrize("marker", ["rye", "ryeos"])
    @pytest.mark.parametrize("padded", [True, False])
    @pytest.mark.parametrize("standard", [True, False])
    @pytest.mark.parametrize(
        "place", ["<!-- {} -->\n---\nname: facts\n---\n\nbody\n", "---\n# {}\nname: facts\n---\n\nbody\n"]
    )
    def test_every_spelling_verifies(self, marker: str, padded: bool, standard: bool, place: str) -> None:
        line = line_over(self.REST, key_id=KEY.public.later_key_id)
        encoded = encode_signature(line.signature)
        encoded = encoded.replace("-", "+").replace("_", "/") if standard else encoded
        encoded = encoded if padded else encoded.rstrip("=")
        text = place.format(f"{marker}:signed:{TIME}:{line.hash}:{encoded}:{line.key_id}")
        assert judge(text, "knowledge").verdict == "valid"
        assert judge(text.replace("body", "Body"), "knowledge").verdict == "modified"
        assert judge(text, "knowledge", "a.md", OTHER.public).verdict == "untrusted"

    def test_a_64_hex_id_is_of_the_raw_key_and_a_16_hex_id_of_the_pem(self) -> None:
        crossed = line_over("x\n", key_id=KEY.public.later_key_id[:16])
        assert judge(insert("x\n", crossed, MARKDOWN)).verdict == "untrusted"


class TestAnyChange:
    @pytest.mark.parametrize(
        ("sample", "region"), [(s, r) for s in SAMPLES for r in s.regions], ids=lambda v: getattr(v, "name", v)
    )
    def test_each_region_of_each_kind(self, sample: Sample, region: str) -> None:
        text = signed_sample(sample.name)
        piece = sample.regions[region]
        assert piece in sample.text
        for changed in (
            text.replace(piece, piece + "x", 1),
            text.replace(piece, "", 1),
            text.replace(piece, piece * 2, 1),
        ):
            assert check(sample, changed) in ("modified", "unsigned", "partial", "malformed")
            assert check(sample, changed) != "valid"

    @every_sample
    def test_each_field_of_the_line(self, sample: Sample) -> None:
        text = signed_sample(sample.name)
        found = find(text, layout_of(sample.kind, sample.file_name))
        assert isinstance(found, FoundLine)
        assert found.line
        line = found.line
        signature = encode_signature(line.signature)
        flipped = ("B" if signature[10] == "A" else "A").join((signature[:10], signature[11:]))
        changes: dict[str, Callable[[str], str]] = {
            "untrusted": lambda t: t.replace(line.key_id, "0" * 16, 1),
            "bad-signature": lambda t: t.replace(signature, flipped, 1),
            "unsigned": lambda t: t.replace("rye:signed:", "rye:sighed:", 1),
            "malformed": lambda t: t.replace(line.hash, line.hash.upper(), 1),
        }
        for verdict, change in changes.items():
            assert check(sample, change(text)) == verdict
        digit = "0" if line.hash[0] != "0" else "1"
        assert check(sample, text.replace(line.hash, digit + line.hash[1:], 1)) == "bad-signature"

    @every_sample
    def test_the_timestamp_is_the_one_exception(self, sample: Sample) -> None:
        """The date is not signed. A changed date goes unnoticed, so nothing may depend on it."""
        assert check(sample, signed_sample(sample.name).replace(TIME, "2031-01-01T00:00:00Z", 1)) == "valid"
        assert check(sample, signed_sample(sample.name).replace(TIME, "2031-02-30T00:00:00Z", 1)) == "malformed"

    @every_sample
    def test_moving_the_line_anywhere_else_is_never_valid(self, sample: Sample) -> None:
        lines = signed_sample(sample.name).split("\n")
        line = lines.pop(sample.line - 1)
        for at in range(len(lines) + 1):
            if at != sample.line - 1:
                assert check(sample, "\n".join((*lines[:at], line, *lines[at:]))) != "valid"

    @every_sample
    def test_a_second_line_above_or_below_is_never_valid_for_the_first(self, sample: Sample) -> None:
        lines = signed_sample(sample.name).split("\n")
        doubled = "\n".join((*lines[: sample.line], lines[sample.line - 1], *lines[sample.line :]))
        assert check(sample, doubled) == "modified"

    @pytest.mark.slow
    @every_sample
    def test_every_byte_replaced_by_its_neighbours(self, sample: Sample) -> None:
        data = signed_sample(sample.name).encode()
        start = data.index(TIME.encode())
        for at in range(len(data)):
            if start <= at < start + len(TIME):
                continue
            for value in (data[at] ^ 1, data[at] ^ 0x20):
                assert check(sample, data[:at] + bytes((value,)) + data[at + 1 :]) != "valid", at

    @settings(max_examples=EXAMPLES)
    @given(st.data())
    def test_hypothesis_any_byte_anywhere(self, data: st.DataObject) -> None:
        sample = data.draw(st.sampled_from(SAMPLES))
        signed = signed_sample(sample.name).encode()
        start = signed.index(TIME.encode())
        places = [at for at in range(len(signed)) if not start <= at < start + len(TIME)]
        at = data.draw(st.sampled_from(places))
        value = data.draw(st.integers(0, 255).filter(lambda value: value != signed[at]))
        assert check(sample, signed[:at] + bytes((value,)) + signed[at + 1 :]) != "valid"

    @pytest.mark.thorough
    @settings(max_examples=EXAMPLES)
    @given(st.data())
    def test_hypothesis_any_bytes_put_in_or_taken_out(self, data: st.DataObject) -> None:
        """CR before LF is read as LF, so it is the only possible insertion; a provider suffix is unsigned text."""
        sample = data.draw(st.sampled_from(SAMPLES))
        signed = signed_sample(sample.name).encode()
        start = signed.index(TIME.encode())
        at = data.draw(st.integers(0, len(signed)).filter(lambda at: not start < at < start + len(TIME)))
        gone = data.draw(st.integers(0, 3))
        new = data.draw(
            st.sampled_from([b"", b"\r", b"\n", b" ", b"\0", b"---\n", b"#!", b"\xef\xbb\xbf", b"=", b":", b"a"])
        )
        changed = signed[:at] + new + signed[at + gone :]
        if changed.replace(b"\r\n", b"\n") != signed and not start - gone < at < start + len(TIME):
            assert check(sample, changed) != "valid"


@settings(max_examples=EXAMPLES)
@given(st.text(max_size=60), st.sampled_from(SAMPLES))
def test_hypothesis_whatever_is_signed_verifies_and_is_signed_once(text: str, sample: Sample) -> None:
    assume("\r\n" not in text and not text.startswith("\ufeff") and "rye" not in text.lower())
    signed = sign(text, sample.kind, sample.file_name, KEY, NOW)
    assert check(sample, signed) == "valid"
    assert sign(signed, sample.kind, sample.file_name, OTHER, NOW).count("rye:signed:") == signed.count("rye:signed:")


@settings(max_examples=EXAMPLES)
@given(st.binary(max_size=200), st.sampled_from(SAMPLES))
def test_hypothesis_any_bytes_get_a_verdict(data: bytes, sample: Sample) -> None:
    assert check(sample, data) in ("unsigned", "malformed")


@pytest.mark.slow
@pytest.mark.parametrize(
    "data",
    rest_thorough(
        2, [b"<directive" * 1_000_000, b"</directive>" * 900_000, b"---\n" * 2_500_000, b"#!" + b"a" * 10_000_000]
    ),
    ids=["openers", "closers", "dashes", "shebang"],
)
def test_ten_megabytes_are_judged_quickly(data: bytes) -> None:
    start = time.process_time()
    for kind, name in (("directive", "a.md"), ("knowledge", "a.md"), ("tool", "a.py")):
        layout = layout_of(kind, name)
        assert judge(insert(data.decode(), line_over("something else"), layout), kind, name).verdict == "modified"
    assert time.process_time() - start < 5


@pytest.mark.corpus
class TestRealFiles:
    def test_the_corpus_comes_out_as_expected(self) -> None:
        folder = shared("corpus/ryeos")
        key = read_public_key((folder / "keys" / "4b987fd4e40303ac.toml").read_bytes())
        assert (key.key.key_id, key.owner) == ("4b987fd4e40303ac", "leo")
        with (folder / "expected.csv").open(newline="") as file:
            rows = list(csv.DictReader(file))
        verdicts = [
            (row["path"], judge((folder / row["path"]).read_bytes(), row["kind"], row["path"], key.key).verdict)
            for row in rows
        ]
        assert verdicts == [(row["path"], row["verdict"]) for row in rows]
        assert len(rows) == 37

    def test_the_directive_document_is_a_signed_knowledge_item(self) -> None:
        key = read_public_key(shared("corpus/ryeos/keys/4b987fd4e40303ac.toml").read_bytes()).key
        data = shared("spec/003_9b92539be3ce5591.txt").read_bytes()
        assert judge(data, "knowledge", "directive-format.txt", key).verdict == "valid"
        assert judge(data.replace(b"\n", b"\r\n"), "knowledge", "x.md", key).verdict == "valid"
        assert judge(data + b"\n", "knowledge", "x.md", key).verdict == "modified"
        assert judge(data, "knowledge", "x.md", KEY.public).verdict == "untrusted"
