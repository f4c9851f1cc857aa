"""Tensor states: a graph of einsums whose tensors are replicated, sharded or partial, and the collectives in between.

On every axis of a device mesh a tensor is replicated (R), sharded along one of its letters, or partial (P):
its value is the sum over the axis. An operation (`graph`) runs without communication if its inputs and its output
are in states that fit; what changes a state is a collective (`states`). `cheapest` chooses the states by an integer
program (`plans`), `run` executes the choice on numpy shards, collective by collective (`shards`).
"""

from colllib.training.tensor_states.graph import Graph, Node, mlp_step, training_step, transformer_block
from colllib.training.tensor_states.plans import Machine, Plan, cheapest
from colllib.training.tensor_states.shards import run, unsharded
from colllib.training.tensor_states.states import collective, ways
