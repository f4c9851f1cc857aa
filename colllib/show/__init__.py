"""Figures, tables and explorers: the edge of the library that draws.

``import colllib`` does not import this package, nor matplotlib and ipywidgets with it.
"""

from colllib.show.busbw_explorer import busbw_explorer
from colllib.show.claims import claims_table
from colllib.show.control import Control, Part
from colllib.show.cost_explorer import cost_explorer
from colllib.show.explorer import Explorer
from colllib.show.figure import Chart, axes, bars, svg_figure
from colllib.show.lines import Mark, lines, number
from colllib.show.message_explorer import message_explorer
from colllib.show.table import Table
from colllib.show.trace_player import trace_player
from colllib.show.winners_map import winners_map

__all__ = [
    "Chart",
    "Control",
    "Explorer",
    "Mark",
    "Part",
    "Table",
    "axes",
    "bars",
    "busbw_explorer",
    "claims_table",
    "cost_explorer",
    "lines",
    "message_explorer",
    "number",
    "svg_figure",
    "trace_player",
    "winners_map",
]
