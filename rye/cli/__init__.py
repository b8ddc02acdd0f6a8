"""The command line: arguments in, printing out, and nothing else. Deciding happens in the rooms below."""
