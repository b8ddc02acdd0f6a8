"""A witness (C2SP tlog-witness): it signs that a log has only ever grown, for any log and any reader.

:mod:`~rye.witness.deciding` says what a request deserves, :mod:`~rye.witness.folder` keeps what was signed,
:mod:`~rye.witness.serving` answers over HTTP.
"""
