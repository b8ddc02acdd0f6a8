"""Files on disk: atomic writes, private files, the user's folders, remembered verdicts."""
