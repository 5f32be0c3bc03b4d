"""The demonstration job and its dataset, which travel with the package."""
