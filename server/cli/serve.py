"""eminence serve: the gRPC service, with the settings of `python -m server`."""

from __future__ import annotations

import click


@click.command(context_settings={"ignore_unknown_options": True, "help_option_names": []})
@click.argument("settings", nargs=-1, type=click.UNPROCESSED)
def serve(settings: tuple[str, ...]) -> None:
    """Serve over gRPC, until told to stop. `eminence serve --help` lists the settings."""
    from server.__main__ import main

    main(settings, "eminence serve")
