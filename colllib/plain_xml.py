"""XML from elsewhere: elements and attributes only; a document type, and with it every entity, is refused."""

from __future__ import annotations

from typing import NoReturn
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers.expat import ExpatError, ParserCreate

from colllib.units import shortened

MOST_TEXT, MOST_DEPTH = 32 * 2**20, 50


def parsed(text: str, root: str) -> Element:
    """The tree of a document whose outermost element must have the name `root`.

    Raises:
        ValueError: if it is over 32 MiB, no XML, has a document type, is nested over 50 deep, or begins otherwise.

    >>> parsed('<system version="1"><cpu/></system>', "system")[0].tag
    'cpu'
    """
    if len(text) > MOST_TEXT:
        raise ValueError("XML over 32 MiB")
    tree, parser, depth = TreeBuilder(), ParserCreate(), 0

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > MOST_DEPTH:
            raise ValueError(f"XML nested over {MOST_DEPTH} deep")
        tree.start(name, attributes)

    def end(name: str) -> None:
        nonlocal depth
        depth -= 1
        tree.end(name)

    def refuse(*_: object) -> NoReturn:
        raise ValueError("XML with a document type, which could name entities and other files: take it out")

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(text.encode(errors="replace"), True)
    except ExpatError as error:
        raise ValueError(f"no XML: {error}") from None
    found = tree.close()
    if found.tag != root:
        raise ValueError(f"XML begins with <{shortened(found.tag)}>, not with <{root}>")
    return found


def number(element: Element, name: str, least: int = 0) -> int:
    """A whole number among the attributes; refused if it is missing, no number, or too small."""
    text = element.get(name)
    try:
        value = int(text or "")
    except ValueError:
        raise ValueError(f"<{element.tag}>: {name} = {shortened(repr(text))} is no whole number") from None
    if not least <= value <= 10**9:
        raise ValueError(f"<{element.tag}>: {name} = {value} must be at least {least}")
    return value
