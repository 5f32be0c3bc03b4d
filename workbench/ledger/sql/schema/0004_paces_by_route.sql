-- Which route's limit changed, and to what; model NULL: that of all routes, or of a version that had only one.

ALTER TABLE paces ADD COLUMN model VARCHAR;
ALTER TABLE paces ADD COLUMN limit_allowed BIGINT;
