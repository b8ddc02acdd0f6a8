"""Audits an installation: compares the lock, the files on disk and the registries' current state, and returns findings. Pure.

:mod:`finding` has the rules. :mod:`disk`, :mod:`lock` and :mod:`registry` apply them. :mod:`choice` says which findings count.
"""
