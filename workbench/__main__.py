"""`python -m workbench` is `workbench`, where its script is not on the path."""

from workbench.cli.main import console

console()
