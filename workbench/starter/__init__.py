"""What `workbench init` puts into a folder."""
