-- What each journal held by kind of entry, as counted outside DuckDB; NULL: ingested before this was recorded.

ALTER TABLE ingested_journals ADD COLUMN kinds MAP(VARCHAR, BIGINT);
