"""What `workbench.toml`, the environment and `.env` say."""
