"""What `workbench.toml`, the environment and `.env` say; nothing else reads them."""
