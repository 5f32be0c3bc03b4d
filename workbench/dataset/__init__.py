"""Files become samples: streaming, validated, with a content hash; one module per format."""
