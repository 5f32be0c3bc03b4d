"""The command line: one module per noun; parsing and printing only."""
