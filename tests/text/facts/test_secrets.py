"""``secret-path`` and ``secret-name`` (DESIGN §7.2): paths where secrets are stored, and variables named like secrets."""

from __future__ import annotations

import pytest

from rye.text.facts import CAUTION, NOTE, find_facts

PATHS = (
    "cat ~/.ssh/id_ed25519",
    "cat .env",
    "read `.env.local`",
    "~/.aws/credentials",
    "$HOME/.config/gcloud/application_default_credentials.json",
    "http://169.254.169.254/",
    "/home/u/.gnupg/",
    "~/.mozilla/firefox",
    "~/Library/Keychains/login.keychain-db",
    "wallet.dat",
    "%APPDATA%\\..\\Local\\Google\\Chrome\\User Data\\Default\\Login Data",
    "os.path.expanduser('~/.ssh/id_rsa')",
    "Path.home() / '.ssh' / 'id_rsa'",
    "/etc/shadow",
    "C:\\Users\\me\\.ssh\\id_rsa",
    "~/.config/solana/id.json",
    "find . -name '.env*'",
    "your .env file",
    "load_dotenv('.env')",
    "source .env",
    "metadata.google.internal",
    "http://0xA9FEA9FE/",
    "http://[::ffff:169.254.169.254]/",
    "~/.npmrc",
    "the .ssh folder",
    "MetaMask wallet",
    "~/.git-credentials",
    "~/.config/google-chrome/Default/Cookies",
)
NO_PATHS = (
    "process.env.X",
    ".env.example",
    "os.environ",
    "import env",
    "virtualenv venv/ .venv/",
    "use the ssh command",
    "README.environment",
)
NAMES = (
    "$GITHUB_TOKEN",
    "ANTHROPIC_API_KEY=x",
    "os.environ['DB_PASSWORD']",
    "process.env.apiKey",
    "${AWS_SESSION_TOKEN}",
    "export NPM_TOKEN",
    "`HF_TOKEN`",
    "CLIENT_SECRET",
    "DATABASE_PASSWORD",
    "SSH_PRIVATE_KEY",
)
NO_NAMES = (
    "MAX_TOKENS",
    "token",
    "TOKENIZER",
)


@pytest.mark.parametrize("text", PATHS)
def test_a_place_of_secrets_is_a_caution(text: str) -> None:
    assert {fact.level for fact in find_facts({"SKILL.md": text}) if fact.fact == "secret-path"} == {CAUTION}


@pytest.mark.parametrize("text", NO_PATHS)
def test_an_environment_is_no_place_of_secrets(text: str) -> None:
    assert [fact.value for fact in find_facts({"SKILL.md": text}) if fact.fact == "secret-path"] == []


@pytest.mark.parametrize("text", NAMES)
def test_a_variable_named_like_a_secret_is_a_note(text: str) -> None:
    assert {fact.level for fact in find_facts({"SKILL.md": text}) if fact.fact == "secret-name"} == {NOTE}


@pytest.mark.parametrize("text", NO_NAMES)
def test_a_word_that_counts_tokens_is_no_secret(text: str) -> None:
    assert [fact.value for fact in find_facts({"SKILL.md": text}) if fact.fact == "secret-name"] == []


def test_a_home_folder_is_written_one_way() -> None:
    texts = ("cat ~/.ssh/id_rsa", "cat $HOME/.ssh/id_rsa", "cat /home/ann/.ssh/id_rsa", "cat /Users/ann/.ssh/id_rsa")
    assert {fact.value for text in texts for fact in find_facts({"a.sh": text}) if fact.fact == "secret-path"} == {
        "~/.ssh/id_rsa"
    }
