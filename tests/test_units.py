"""Quantities in and out."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from colllib import units


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("message size", "16MB", 16e6),
        ("message size", "16 MB", 16e6),
        ("message size", "1GiB", 2**30),
        ("message size", "1 kB", 1e3),
        ("message size", "0B", 0),
        ("time", "0.5us", 0.5e-6),
        ("time", "250 ns", 250e-9),
        ("bandwidth", "900GB/s", 900e9),
        ("bandwidth", "400Gbit/s", 50e9),
        ("bandwidth", "1.8TB/s", 1.8e12),
        ("bandwidth", "400Gb/s", 50e9),
        ("bandwidth", "400 Gbps", 50e9),
        ("bandwidth", "25GBps", 25e9),
    ],
)
def test_quantities_are_read_with_decimal_units(kind, text, value):
    assert units.parse(kind, text) == value


POWERS = {"": 0, "k": 3, "K": 3, "M": 6, "G": 9, "T": 12, "P": 15, "m": -3, "u": -6, "µ": -6, "μ": -6, "n": -9}


@given(
    digits=st.from_regex(r"[1-9][0-9]{0,8}(\.[0-9]{1,15})?", fullmatch=True),
    exponent=st.none() | st.integers(-9, 5),
    prefix=st.sampled_from(list(POWERS)),
)
def test_a_quantity_is_the_number_that_python_reads_in_the_base_unit(digits, exponent, prefix):
    """5us is 5e-06, and not the product of 5 and 1e-06, which is another number."""
    kind, unit = ("time", "s") if POWERS[prefix] <= 0 else ("message size", "B")
    text = digits + ("" if exponent is None else f"e{exponent}")
    assert units.parse(kind, f"{text}{prefix}{unit}") == float(f"{digits}e{(exponent or 0) + POWERS[prefix]}")


@pytest.mark.parametrize(("prefix", "power"), [("Ki", 1), ("Mi", 2), ("Gi", 3), ("Ti", 4), ("Pi", 5)])
def test_binary_units_and_bits_are_exact(prefix, power):
    assert units.parse("message size", f"0.1{prefix}B") == float(Fraction(1, 10) * 1024**power)
    assert units.parse("bandwidth", f"3{prefix}bit/s") == 3 * 1024**power / 8


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("message size", "16"),
        ("message size", "16 percent"),
        ("message size", "sixteen"),
        ("message size", "16XB"),
        ("message size", "16Mb"),
        ("message size", "16us"),
        ("message size", "-1MB"),
        ("message size", ""),
        ("message size", "16MB))"),
        ("message size", "nanMB"),
        ("time", "5GB"),
        ("bandwidth", "900GB"),
        ("bandwidth", "900GHz"),
        ("bandwidth", "1/0 GB/s"),
        ("bandwidth", "__import__('os')"),
        ("message size", "1.2.3MB"),
        ("message size", "∞ MB"),
        ("message size", "[1]MB"),
        ("message size", "MB"),
        ("message size", "--5MB"),
        ("message size", "+5MB"),
        ("message size", "1,000MB"),
        ("message size", "16MB;"),
        ("message size", "9**9**9 MB"),
        ("message size", "1_0MB"),
        ("message size", "٤MB"),
        ("message size", "1e31B"),
        ("message size", "1e-31B"),
        ("message size", "1e999999999B"),
        ("time", "us"),
        ("time", "16\u00a0us"),
        ("time", "5Kis"),
        ("bandwidth", "0GB/s"),
        ("bandwidth", "1e-300B/s"),
    ],
)
def test_what_cannot_be_read_is_refused_in_one_line_with_an_example(kind, text):
    with pytest.raises(ValueError, match=r"^[^\n]+$") as refusal:
        units.parse(kind, text)
    assert repr(text) in str(refusal.value)
    assert "such as" in str(refusal.value) or "write it as" in str(refusal.value)


@pytest.mark.parametrize(("text", "fault"), [("2 mb", "'mb' is no unit"), ("200", "not readable"), ("1.5.2MB", "not")])
def test_a_refusal_names_the_unit_that_is_none(text, fault):
    with pytest.raises(ValueError, match=fault):
        units.parse("message size", text)


def test_a_long_text_is_cut_where_it_is_quoted():
    for read in (lambda text: units.parse("time", text), lambda text: units.whole("root", text, "root=3")):
        with pytest.raises(ValueError, match=r"^.{,200}$"):
            read("9" * 5000)


@pytest.mark.parametrize("text", ["", "-1", "+1", " 1", "1_0", "٤", "４", "0x10", "1e3", "1.5", "9" * 19])
def test_a_whole_number_is_written_in_digits(text):
    with pytest.raises(ValueError, match=r"at most 18 digits, as in root=3$") as refusal:
        units.whole("root", text, "root=3")
    assert repr(text) in str(refusal.value)
    assert units.whole("root", "0" * 17 + "7", "root=3") == 7


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0 s"), (44.486e-6, "44.5 µs"), (999.9e-9, "1 µs"), (0.9996, "1 s"), (3e-12, "0.003 ns"), (1234, "1,230 s")],
)
def test_times_are_shown_with_the_digits_they_deserve(value, text):
    assert units.seconds(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0 B"), (1, "1 B"), (999.9e6, "1 GB"), (16e6, "16 MB"), (31250, "31.2 kB")]
)
def test_sizes_are_shown_in_decimal_units(value, text):
    assert units.size(value) == text


def test_a_size_that_rounds_down_from_a_power_of_1024_keeps_its_prefix():
    assert [units.binary_size(2.0**k) for k in (10, 20, 30, 40)] == ["1 KiB", "1 MiB", "1 GiB", "1 TiB"]
    assert units.binary_size(1023) == "1020 B"
