"""``python -m undertow`` is the ``undertow`` command."""

from undertow.cli import main

if __name__ == "__main__":
    main()
