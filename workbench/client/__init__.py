"""The platform's API over HTTP."""
