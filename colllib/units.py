"""Quantities with units, in and out. GB is 10^9 bytes, GiB is 2^30."""

from __future__ import annotations

from functools import cache
from math import isfinite
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pint

_KINDS = {
    "message size": ("byte", "16MB"),
    "time": ("second", "0.5us"),
    "bandwidth": ("byte / second", "900GB/s"),
}

_DEFINITIONS = (
    "nano- = 1e-9 = n-",
    "micro- = 1e-6 = u- = µ- = μ-",
    "milli- = 1e-3 = m-",
    "kilo- = 1e3 = k- = K-",
    "mega- = 1e6 = M-",
    "giga- = 1e9 = G-",
    "tera- = 1e12 = T-",
    "peta- = 1e15 = P-",
    "kibi- = 2**10 = Ki-",
    "mebi- = 2**20 = Mi-",
    "gibi- = 2**30 = Gi-",
    "tebi- = 2**40 = Ti-",
    "second = [time] = s = sec",
    "bit = [information]",
    "byte = 8 * bit = B",
)


@cache
def _registry() -> pint.UnitRegistry:
    import pint

    # pint's own table takes a bit for a pure number, so that "16" would be a size and "900 GHz" a bandwidth
    registry: pint.UnitRegistry = pint.UnitRegistry(None)
    for line in _DEFINITIONS:
        registry.define(line)
    return registry


def parse(kind: str, text: str) -> float:
    """Read a quantity in bytes, seconds or bytes per second.

    Args:
        kind: "message size", "time" or "bandwidth".
        text: a number with its unit, such as "16MB", "0.5us" or "900GB/s".

    Raises:
        ValueError: if the text cannot be read, has another unit, or is negative.

    >>> parse("message size", "16MB"), parse("message size", "1GiB"), parse("bandwidth", "400Gbit/s")
    (16000000.0, 1073741824.0, 50000000000.0)
    """
    import pint

    unit, example = _KINDS[kind]
    try:
        value = float(_registry().Quantity(text).to(unit).magnitude)
    except (pint.errors.PintError, AttributeError, TypeError, ValueError, AssertionError):
        raise ValueError(f"{kind} {text!r}: not readable; write a number with its unit, such as {example}") from None
    except Exception as error:  # pint lets errors of its tokenizer through
        raise ValueError(f"{kind} {text!r}: not readable; write it as {example}") from error
    if not isfinite(value) or value < 0:
        raise ValueError(f"{kind} {text!r}: must be at least 0 and finite, such as {example}")
    return value


def _scaled(value: float, unit: str, prefixes: tuple[tuple[float, str], ...], digits: int) -> str:
    # what would round up to 1000 of one prefix is shown as 1 of the next
    rounded = max(abs(value), abs(float(f"{value:.{digits}g}")))
    scale, prefix = next((pair for pair in prefixes if rounded >= pair[0]), prefixes[-1])
    return f"{_digits(value / scale, digits)} {prefix}{unit}"


def _digits(value: float, digits: int) -> str:
    text = f"{value:.{digits}g}"
    return f"{float(text):.0f}" if "e" in text else text


def seconds(value: float, digits: int = 3) -> str:
    """A time for reading.

    >>> seconds(546.486e-6), seconds(0.0), seconds(2.5)
    ('546 us', '0 s', '2.5 s')
    """
    if value == 0:
        return "0 s"
    return _scaled(value, "s", ((1, ""), (1e-3, "m"), (1e-6, "u"), (1e-9, "n")), digits)


def size(value: float, digits: int = 3) -> str:
    """A number of bytes for reading, in decimal units.

    >>> size(16e6), size(1000), size(0)
    ('16 MB', '1 kB', '0 B')
    """
    return _scaled(value, "B", ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1, "")), digits)


def binary_size(value: float, digits: int = 3) -> str:
    """A number of bytes for reading, in powers of 1024.

    >>> binary_size(2**20), binary_size(2**34)
    ('1 MiB', '16 GiB')
    """
    prefixes = tuple((2.0 ** (10 * k), prefix) for k, prefix in ((4, "Ti"), (3, "Gi"), (2, "Mi"), (1, "Ki"), (0, "")))
    return _scaled(value, "B", prefixes, digits)


def rate(value: float, digits: int = 3) -> str:
    """A bandwidth for reading, in decimal units.

    >>> rate(900e9)
    '900 GB/s'
    """
    return size(value, digits) + "/s"
