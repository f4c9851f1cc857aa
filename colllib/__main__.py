"""`python -m colllib` is the command `colllib`."""

from colllib.cli import main

main()
