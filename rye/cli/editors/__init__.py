"""Commands for editors and other programs that read what Rye writes."""
