"""`python -m simulmt` is the `simulmt` command."""

from simulmt.cli.main import main

if __name__ == "__main__":
    main()
