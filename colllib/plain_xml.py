"""XML from elsewhere: elements and attributes only; a document type, and with it every entity, is refused."""

from __future__ import annotations

from xml.etree.ElementTree import Element, ParseError, TreeBuilder, XMLParser

from colllib.units import shortened

MOST_TEXT, MOST_DEPTH, MOST_NUMBER = 32 * 2**20, 50, 10**9


class _Plain(TreeBuilder):
    depth = 0

    def start(self, tag: str, attrs: dict[str, str], /) -> Element:
        self.depth += 1
        if self.depth > MOST_DEPTH:
            raise ValueError(f"XML nested over {MOST_DEPTH} deep")
        return super().start(tag, attrs)

    def end(self, tag: str, /) -> Element:
        self.depth -= 1
        return super().end(tag)

    def doctype(self, *_: str | None) -> None:
        """Its being there is refused, before anything in it is read."""
        raise ValueError("XML with a document type, which could name entities and other files: take it out")


def parsed(text: str, root: str) -> Element:
    """The tree of a document whose outermost element must have the name `root`.

    Raises:
        ValueError: if it is over 32 MiB, no XML, has a document type, is nested over 50 deep, or begins otherwise.

    >>> parsed('<system version="1"><cpu/></system>', "system")[0].tag
    'cpu'
    """
    if len(text) > MOST_TEXT:
        raise ValueError("XML over 32 MiB")
    parser = XMLParser(target=_Plain())
    try:
        parser.feed(text.encode(errors="replace"))
        element = parser.close()
    except ParseError as error:
        raise ValueError(f"no XML: {error}") from None
    if element.tag != root:
        raise ValueError(f"XML begins with <{shortened(element.tag)}>, not with <{root}>")
    return element


def number(element: Element, name: str, least: int = 0) -> int:
    """A whole number among the attributes; refused if it is missing, no number, too small, or over 10^9."""
    text = element.get(name)
    try:
        value = int(text or "")
    except ValueError:
        raise ValueError(f"<{element.tag}>: {name} = {shortened(repr(text))} is no whole number") from None
    if not least <= value <= MOST_NUMBER:
        raise ValueError(f"<{element.tag}>: {name} = {shortened(str(value))} must be {least} to {MOST_NUMBER:,}")
    return value
