"""What the name of a file says: whether it is read rather than run."""

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


def is_data(name: str) -> bool:
    """Whether a file of this name is data: naming ``references/agents.md`` starts nothing."""
    return name.lower().endswith(_DATA_SUFFIXES)
