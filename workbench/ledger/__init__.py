"""What was asked, answered and scored: a journal that survives anything, and the DuckDB file it is ingested into."""
