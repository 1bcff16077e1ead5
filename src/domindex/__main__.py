"""`python -m domindex`, where the command is not on the path."""

from domindex.cli import main

if __name__ == "__main__":
    main()
