"""python -m server.cli: the same as `eminence`."""

from server.cli.main import main

if __name__ == "__main__":
    main()
