"""`workbench completion`: the shell completion script for commands, options, files and runs."""

import click
from click.shell_completion import get_completion_class

import workbench.display.commands as commands

_INSTALL = {
    "bash": f"add this to ~/.bashrc: {commands.COMPLETION_OF_BASH}",
    "zsh": f"add this to ~/.zshrc: {commands.COMPLETION_OF_ZSH}",
    "fish": commands.COMPLETION_OF_FISH,
}


@click.command(epilog="\b\n" + "\n".join(f"{shell}: {how}" for shell, how in _INSTALL.items()))
@click.argument("shell", type=click.Choice(list(_INSTALL)))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the completion script for SHELL."""
    found = get_completion_class(shell)
    assert found is not None  # click has all three
    root = ctx.find_root()
    click.echo(found(root.command, {}, "workbench", "_WORKBENCH_COMPLETE").source())
