"""Pages over the ledger: self-contained HTML, each figure the result of a named query."""
