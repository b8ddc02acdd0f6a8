"""What the name of a file is, and what it says: whether the file is run, or read."""

from __future__ import annotations

from typing import Final

_DATA_SUFFIXES: Final = tuple(
    f".{suffix}"
    for suffix in (
        *("md", "mdx", "txt", "json", "jsonl", "yaml", "yml", "toml", "csv", "tsv", "xml", "html", "htm", "css", "ini"),
        *("pfx", "p12", "pem", "crt", "cer"),
        *("png", "jpg", "jpeg", "gif", "svg", "webp", "pdf", "log", "lock", "conf", "cfg", "sql", "parquet", "ipynb"),
        *(
            "gz",
            "tgz",
            "zip",
            "tar",
            "bz2",
            "xz",
            "zst",
            "7z",
            "mp3",
            "mp4",
            "wav",
            "webm",
            "mov",
            "docx",
            "xlsx",
            "pptx",
        ),
    )
)
PROGRAM_SUFFIXES: Final = (".exe", ".bat", ".cmd", ".ps1", ".msi", ".hta", ".vbs", ".command", ".app", ".run")
"""Of files that are started by a path without a folder."""
SCRIPT_SUFFIXES: Final = (".sh", ".py", ".js", ".ps1", ".exe")
"""Of files that are run where the path alone does not say so."""


def file_name(text: str) -> str:
    """The name of the file that a word of a command names, without folders, quotes, brackets and the marks of a sentence."""
    bare = text.replace("${", "$").strip("\"'[]{}(),:").rstrip(".,;!?)")
    return bare.replace("\\", "/").rpartition("/")[2]


def is_data(name: str) -> bool:
    """Whether a file of this name is data: naming ``references/agents.md`` starts nothing."""
    return name.lower().endswith(_DATA_SUFFIXES)
