"""Files on disk: atomic writes, private files, the user's folders, what was verified here."""
