"""Pages over the ledger: HTML with its scripts and long texts beside it or inside; figures rest on rows of named queries."""
