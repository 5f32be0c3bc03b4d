"""The texts of `workbench help TOPIC`."""
