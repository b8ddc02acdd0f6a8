"""The command line: it parses arguments and prints results. Everything is decided in the packages below it."""
