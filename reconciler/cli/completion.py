"""`reconcile completion`: the completion script of a shell."""

import click
from click.shell_completion import get_completion_class

from reconciler.cli.output import end_unread, say_unchanged


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> int:
    """Print the completion script of SHELL, for the shell to evaluate.

    Example: eval "$(reconcile completion bash)"
    """
    end_unread()
    from reconciler.cli.main import cli

    found = get_completion_class(shell)
    if found is None:
        raise click.UsageError(f"no completion for {shell}")
    say_unchanged(found(cli, {}, "reconcile", "_RECONCILE_COMPLETE").source())
    return 0
