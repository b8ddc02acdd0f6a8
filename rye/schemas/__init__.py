"""JSON schemas of what Rye reads and writes (``rye schema``), built from the types and tables that the parsers use.

:mod:`rye.schemas.catalog` lists them. For documents that msgspec decodes, the schema is generated from the type, plus the rules
that the parser adds. rye.toml and the metadata of each kind have hand-written readers, and their schemas use the same tables.
``tests/schemas`` checks with random documents that readers and schemas agree.
"""
