"""Numbers that report, command line and frames share."""
