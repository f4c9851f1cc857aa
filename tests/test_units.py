"""Quantities in and out."""

import pytest

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
    ],
)
def test_quantities_are_read_with_decimal_units(kind, text, value):
    assert units.parse(kind, text) == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("message size", "16"),
        ("message size", "16 percent"),
        ("message size", "sixteen"),
        ("message size", "16XB"),
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
    ],
)
def test_what_cannot_be_read_is_refused_in_one_line_with_an_example(kind, text):
    with pytest.raises(ValueError, match=r"^[^\n]+$") as refusal:
        units.parse(kind, text)
    assert repr(text) in str(refusal.value)
    assert "such as" in str(refusal.value) or "write it as" in str(refusal.value)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0 s"), (44.486e-6, "44.5 us"), (999.9e-9, "1 us"), (0.9996, "1 s"), (3e-12, "0.003 ns"), (1234, "1230 s")],
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
