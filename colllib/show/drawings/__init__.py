"""A drawing of every structure that the book introduces, computed from the schedule or the topology that it shows."""

from colllib.show.drawings.dispatches import dispatches
from colllib.show.drawings.graphs import Spread, graph, graphs, shard
from colllib.show.drawings.holdings import an_instance, before_after, describe, primitives
from colllib.show.drawings.networks import network, star
from colllib.show.drawings.products import products
from colllib.show.drawings.rounds import butterfly, walk
from colllib.show.drawings.trees import tree, two_trees
from colllib.show.drawings.wires import wiring
