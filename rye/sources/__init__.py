"""Items from git repositories and folders: reading a source without trusting any of it (docs/how-to/sources.md).

Decisions are separate from effects. Pure: :mod:`git_objects` (bytes of git's objects), :mod:`refs` (what a rev means),
:mod:`inventory` (which items a list of files holds), :mod:`item` (whether one may be used). Shell: :mod:`git_program`
(running ``git``),
:mod:`git_cache` (the repositories in the user's cache), :mod:`commit` and :mod:`folder` (a source's files).
"""
