"""The platform of the document as a real HTTP server on loopback; imports nothing else of workbench."""
