"""Batch evaluation and usage tracking for accounts on a multi-model chat platform."""

__all__: list[str] = []
