"""The command line: one module per command; each parses, calls, renders, and gives an exit code."""
