"""The program gpureduce, by ``python -m gpureduce`` and as the command that pip installs."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Becomes the program of this package, or the one that $GPUREDUCE_PROGRAM names."""
    here = os.path.dirname(os.path.abspath(__file__))
    path = os.environ.get("GPUREDUCE_PROGRAM") or os.path.join(here, "native", "gpureduce")
    try:
        os.execv(path, [path, *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"gpureduce: {path}: {error.strerror}")


if __name__ == "__main__":
    main()
