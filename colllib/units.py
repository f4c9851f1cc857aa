"""Quantities with units, in and out. GB is 10^9 bytes, GiB is 2^30."""

from __future__ import annotations

import re
from fractions import Fraction

_DECIMAL = {"": 0, "k": 3, "K": 3, "M": 6, "G": 9, "T": 12, "P": 15}
_BYTES = {
    **{prefix + "B": Fraction(10) ** power for prefix, power in _DECIMAL.items()},
    **{prefix + "bit": Fraction(10) ** power / 8 for prefix, power in _DECIMAL.items()},
    **{f"{prefix}iB": Fraction(1024) ** power for power, prefix in enumerate("KMGTP", 1)},
    **{f"{prefix}ibit": Fraction(1024) ** power / 8 for power, prefix in enumerate("KMGTP", 1)},
}
_SECONDS = {
    f"{prefix}s": Fraction(10) ** power for prefix, power in {"": 0, "m": -3, "u": -6, "µ": -6, "n": -9}.items()
}
_SECONDS["μs"] = _SECONDS["us"]  # a Greek letter; the micro sign is another character
_RATES = {  # of which makers of networks write bits as b
    f"{unit}{per}": size
    for written, size in _BYTES.items()
    for unit in (written, written.replace("bit", "b"))
    for per in ("/s", "ps")
}
_KINDS = {
    "message size": (_BYTES, "16MB or 16MiB"),
    "time": (_SECONDS, "0.5us"),
    "bandwidth": (_RATES, "900GB/s or 400Gb/s"),
}
_QUANTITY = re.compile(r"(-?)(\d{1,99}(?:\.\d{0,99})?|\.\d{1,99})(?:[eE]([+-]?\d{1,3}))? ?([^\s\d.]\S*)", re.ASCII)
_MOST_POWER = 30  # of ten, up or down: products of a few quantities are still numbers
_MOST_DIGITS = 18  # of a whole number, so that sums of a few fit a machine integer


class BadText(ValueError):
    """What somebody wrote that cannot be read, or names nothing that is known."""


def parse(kind: str, text: str) -> float:
    """Read a message size, time or bandwidth in bytes, seconds or bytes per second, as the nearest float.

    The text is a decimal number with its unit, such as "16MB", "0.5us", "1e-6 s", "900GB/s" or "400Gb/s".

    Raises:
        BadText: if the text cannot be read, has another unit, is negative, or says more than a number can.

    >>> parse("message size", "16MB"), parse("message size", "1GiB"), parse("bandwidth", "400Gbit/s")
    (16000000.0, 1073741824.0, 50000000000.0)
    """
    known, example = _KINDS[kind]
    match = _QUANTITY.fullmatch(text.strip(" "))
    if match is None or match[4] not in known:
        fault = f"{shortened(match[4])!r} is no unit of it" if match else "not readable"
        raise BadText(f"{kind} {shortened(text)!r}: {fault}; write a number with its unit, such as {example}")
    sign, number, power, unit = match.groups()
    value = Fraction(number) * Fraction(10) ** int(power or 0) * known[unit]
    if sign or (value == 0 and kind == "bandwidth"):
        what = f"{kind} {shortened(text)!r}{' is negative' if sign else ''}"
        raise BadText(f"{what}: must be {'above' if kind == 'bandwidth' else 'at least'} 0, such as {example}")
    smallest = 0 if value == 0 else Fraction(10) ** -_MOST_POWER
    if not smallest <= value <= 10**_MOST_POWER:
        raise BadText(f"{kind} {shortened(text)!r}: too {'large' if value > 1 else 'small'}; write it as {example}")
    return float(value)


def whole(what: str, text: str, example: str, *, signed: bool = False) -> int:
    """Read a whole number of at most 18 decimal digits.

    Raises:
        BadText: if the text is anything else, saying what it is and, by an example, how it is written right.

    >>> whole("root", "3", "root=3"), whole("first", "-1", "first=0", signed=True)
    (3, -1)
    """
    digits = text.removeprefix("-") if signed else text
    if not (digits.isascii() and digits.isdecimal() and len(digits) <= _MOST_DIGITS):
        raise BadText(
            f"{what} {shortened(text)!r}: must be a whole number of at most {_MOST_DIGITS} digits, as in {example}"
        )
    return int(text)


def shortened(text: str, most: int = 60) -> str:
    """A text for an error message, cut where it is long.

    >>> shortened("a" * 100, 5)
    'aaaaa...'
    """
    return text if len(text) <= most else text[:most] + "..."


def _scaled(value: float, unit: str, prefixes: tuple[tuple[float, str], ...], digits: int) -> str:
    # what would round up to 1000 of one prefix is shown as 1 of the next
    rounded = max(abs(value), abs(float(f"{value:.{digits}g}")))
    scale, prefix = next((pair for pair in prefixes if rounded >= pair[0]), prefixes[-1])
    text = f"{value / scale:.{digits}g}"
    if "e" in text:
        text = f"{float(text):.0f}"
    return f"{text} {prefix}{unit}"


def seconds(value: float, digits: int = 3) -> str:
    """A time for reading.

    >>> seconds(546.486e-6), seconds(0.0), seconds(2.5), seconds(12_600)
    ('546 µs', '0 s', '2.5 s', '12,600 s')
    """
    if value == 0:
        return "0 s"
    if abs(rounded := float(f"{value:.{digits}g}")) >= 1000:
        return f"{rounded:,.0f} s"
    return _scaled(value, "s", ((1, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n")), digits)


def size(value: float, digits: int = 3) -> str:
    """A number of bytes for reading, in decimal units.

    >>> size(16e6), size(1000), size(0)
    ('16 MB', '1 kB', '0 B')
    """
    return _scaled(value, "B", ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1, "")), digits)


def message(value: float) -> str:
    """A message size for reading, in powers of 1024 where it is short in these and not in decimal units.

    >>> message(16e6), message(1.5e9), message(2**28), message(1.5 * 2**30), message(12345)
    ('16 MB', '1.5 GB', '256 MiB', '1.5 GiB', '12.3 kB')
    """
    exact = [text for text in (size(value), binary_size(value)) if parse("message size", text) == value]
    return exact[0] if exact else size(value)


def binary_size(value: float) -> str:
    """A number of bytes for reading, in powers of 1024.

    >>> binary_size(2**20), binary_size(2**34)
    ('1 MiB', '16 GiB')
    """
    prefixes = tuple((2.0 ** (10 * k), prefix) for k, prefix in ((4, "Ti"), (3, "Gi"), (2, "Mi"), (1, "Ki"), (0, "")))
    return _scaled(value, "B", prefixes, 3)


def rate(value: float, digits: int = 3) -> str:
    """A bandwidth for reading, in decimal units.

    >>> rate(900e9)
    '900 GB/s'
    """
    return size(value, digits) + "/s"


def energy(value: float) -> str:
    """Joules for reading.

    >>> energy(5.8), energy(0.0935), energy(35_800)
    ('5.8 J', '94 mJ', '36 kJ')
    """
    return _scaled(value, "J", ((1e6, "M"), (1e3, "k"), (1, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n")), 2)


def several(count: int, noun: str) -> str:
    """How many of something.

    >>> several(1, "step"), several(0, "step")
    ('1 step', '0 steps')
    """
    return f"{count} {noun}{'s' * int(count != 1)}"


def percent(share: float) -> str:
    """A share in whole percent, which never says none of what there is.

    >>> percent(0.126), percent(0.005), percent(0)
    ('13%', 'under 1%', '0%')
    """
    return "under 1%" if 0 < share <= 0.005 else f"{share:.0%}"


def ratio(value: float) -> str:
    """How many times as long, in three digits.

    >>> [ratio(value) for value in (1, 2.345678, 78.91, 789.29)]
    ['1.00', '2.35', '78.9', '789']
    """
    return f"{value:.{2 if value < 9.995 else 1 if value < 99.95 else 0}f}"
