"""Datasets of other projects, as they come: each module recognises one layout by a row's columns and names them our way."""
