"""Figures, tables and explorers: the edge of the library that draws.

``import colllib`` does not import this package, nor ipywidgets with it.
"""

from colllib.show import drawings
from colllib.show.bounds_explorer import bounds_explorer
from colllib.show.boxes_explorer import boxes_explorer
from colllib.show.breadth_first_explorer import breadth_first_explorer
from colllib.show.claims import Claimed
from colllib.show.compression_explorer import compression_explorer
from colllib.show.contention_explorer import contention_explorer
from colllib.show.control import Control, Part
from colllib.show.cost_explorer import (
    alltoall_explorer,
    busbw_explorer,
    cost_explorer,
    inc_explorer,
    message_explorer,
)
from colllib.show.drawings import before_after, wiring
from colllib.show.expansion_explorer import expansion_explorer
from colllib.show.experts_explorer import experts_explorer
from colllib.show.explorer import Explorer
from colllib.show.figure import Chart, bars
from colllib.show.finder_explorer import finder_explorer
from colllib.show.flip_explorer import flip_explorer
from colllib.show.forest_explorer import growing_explorer, splitting_explorer
from colllib.show.graph_player import graph_player
from colllib.show.ladder_explorer import ladder_explorer, realistic_ladder_explorer
from colllib.show.lasso import Lasso
from colllib.show.lines import Mark, lines, number
from colllib.show.link_heat import heat, heat_map, link_heat_explorer, link_steps_explorer
from colllib.show.mesh_explorer import mesh_explorer
from colllib.show.overlap_explorer import overlap_explorer
from colllib.show.parallelism_explorer import parallelism_explorer
from colllib.show.pat_explorer import pat_explorer
from colllib.show.pen import in_a_row
from colllib.show.pipeline_explorer import pipeline_explorer
from colllib.show.placement_explorer import placement_explorer
from colllib.show.player import still
from colllib.show.players import boxes_player, boxes_switch_player, switch_player, torus_player, trace_player
from colllib.show.prediction_explorer import prediction_explorer
from colllib.show.primitive_explorer import primitive_explorer
from colllib.show.stages_explorer import stages_explorer
from colllib.show.states_explorer import states_explorer
from colllib.show.table import Table
from colllib.show.timelines import gantt, space_time
from colllib.show.token_explorer import token_explorer
from colllib.show.topology_explorer import topology_explorer
from colllib.show.winners_map import winners_map
