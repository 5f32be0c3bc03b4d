"""Our own columns, and tables whose columns a job names."""

from workbench.dataset.layouts.layout import Layout, always

LAYOUT = Layout("plain", "our own columns, or those that a job names", lambda _: True, always(lambda _, row: row))
