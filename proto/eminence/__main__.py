"""Run `eminence` as `python -m eminence`."""

if __name__ == "__main__":
    # Worker processes import this file and need no command.
    from server.cli.main import main

    main()
