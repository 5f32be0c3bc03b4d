"""Scheduled jobs: what is due, and the timer or crontab that asks for it."""
