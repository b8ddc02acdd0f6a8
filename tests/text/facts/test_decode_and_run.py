"""``decode-and-run`` (DESIGN §7.2): decoded data is run. Decoding alone does not count."""

from __future__ import annotations

import pytest

from rye.text.facts import FACTS, find_facts
from rye.text.facts.fact import DECODE_AND_RUN

FOUND = (
    "echo aGk= | base64 -d | sh",
    "echo aGk= | base64 -di | bash",
    "base64 -d <<< aGk= | bash",
    "echo aGk=|base64 --decode|bash",
    "python3 -c \"import base64;exec(base64.b64decode('aGk='))\"",
    "eval(Buffer.from('aGk=','base64').toString())",
    "powershell -EncodedCommand ZQBjAGgAbwA=",
    "powershell.exe -nop -w hidden -e ZQBjAGgAbwA=",
    "pwsh -ec ZQBjAGgAbwA=",
    "xxd -r -p payload.hex > p; chmod +x p; ./p",
    "echo 6869 | xxd -p -r | bash",
    "zcat payload.gz | sh",
    "gzip -dc a.gz | bash",
    "bash <(base64 -d f.txt)",
    "source <(echo aGk= | base64 -d)",
    'sh -c "$(base64 -d f)"',
    "perl -MMIME::Base64 -e 'eval decode_base64(\"aGk=\")'",
    "ruby -rbase64 -e 'eval Base64.decode64(\"aGk=\")'",
    "exec(zlib.decompress(base64.b64decode(x)))",
    "exec(''.join(chr(i) for i in [112,114]))",
    "eval(String.fromCharCode(97,98))",
    "eval(unescape('%61'))",
    "exec(bytes.fromhex('6869'))",
    "exec(__import__('base64').b64decode('aGk='))",
    "$c=[System.Text.Encoding]::Unicode.GetString([System.Convert]::FromBase64String('aGk='));iex $c",
    "$c=[System.Text.Encoding]::Unicode.GetString([System.Convert]::FromBase64String('aGk='))\niex $c",
    "openssl enc -d -base64 -in f | sh",
    "echo aGk= | base64 -d > /tmp/a.py && python3 /tmp/a.py",
    "python -c \"exec(bytes.fromhex('6869').decode())\"",
    "open('a.sh','wb').write(base64.b64decode(p))\nos.system('sh a.sh')",
    "const f = atob(p); setTimeout(f, 10)",
    "$'\\x63\\x75\\x72\\x6c' x",
    "b64=aGk=; echo $b64 | base64 -d | bash",
    "certutil -decode a.txt a.exe && a.exe",
    "echo -e '\\x65\\x63\\x68\\x6f' | sh",
    "subprocess.run(base64.b64decode(x), shell=True)",
    "child_process.exec(Buffer.from(x,'hex').toString())",
    "echo aGk= | python3 -c 'import sys,base64;exec(base64.b64decode(sys.stdin.read()))'",
)
NOT_FOUND = (
    "echo aGk= | base64 -d",
    "base64 file | sh-x",
    "base64 -w0 x | pbcopy",
    "echo aGk= | base64 -d > out.png",
    "gunzip f.gz",
    "x = base64.b64decode(y)\nprint(x)",
    "JSON.parse(atob(t))",
    "zcat log.gz | grep x",
    "kubectl get secret x | base64 -d | jq .",
    "powershell -ExecutionPolicy Bypass -File x.ps1",
    'powershell -Command "Get-Item -Encoding utf8 x"',
)


@pytest.mark.parametrize("text", FOUND)
def test_is_found_in_prose(text: str) -> None:
    facts = [fact for fact in find_facts({"SKILL.md": f"# Title\n\n{text}\n"}) if fact.fact == DECODE_AND_RUN]
    assert facts
    assert all(fact.level == FACTS[DECODE_AND_RUN] and fact.line >= 3 for fact in facts)


@pytest.mark.parametrize("text", NOT_FOUND)
def test_a_look_alike_is_none(text: str) -> None:
    assert [fact.value for fact in find_facts({"SKILL.md": text}) if fact.fact == DECODE_AND_RUN] == []
