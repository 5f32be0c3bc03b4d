"""Values into sentences, the same for pages, the terminal and JSON."""
