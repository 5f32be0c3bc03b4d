"""The command line: one module a noun; parsing and printing only."""
