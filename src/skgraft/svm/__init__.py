"""Support vector machines and linear programs that the zero-norm methods and the rankings stand on."""

from __future__ import annotations

from skgraft.svm.active_set import active_set
from skgraft.svm.design import DenseDesign, Design, SparseDesign, first_of_each, make_design, rounds_design
from skgraft.svm.dual import BLOCK_SWAPS, Bands, State, Swaps, class_bands, initial_state, solve_bands, solve_dual
from skgraft.svm.dual_lp import ALONE, USED, DualLP, Rows
from skgraft.svm.interior import solve_inside
from skgraft.svm.joint import JointMachine
from skgraft.svm.machines import (
    INSEPARABLE,
    IndependentMachines,
    InseparableError,
    MachineSolution,
    SVMProblem,
    gram_of,
    prefers_primal,
    softened,
    softening,
)
from skgraft.svm.margins import Margins, all_pairs, one_against_rest, tube
from skgraft.svm.one_by_one import OneByOne

__all__ = [
    "ALONE",
    "BLOCK_SWAPS",
    "INSEPARABLE",
    "USED",
    "Bands",
    "DenseDesign",
    "Design",
    "DualLP",
    "IndependentMachines",
    "InseparableError",
    "JointMachine",
    "MachineSolution",
    "Margins",
    "OneByOne",
    "Rows",
    "SVMProblem",
    "SparseDesign",
    "State",
    "Swaps",
    "active_set",
    "all_pairs",
    "class_bands",
    "first_of_each",
    "gram_of",
    "initial_state",
    "make_design",
    "one_against_rest",
    "prefers_primal",
    "rounds_design",
    "softened",
    "softening",
    "solve_bands",
    "solve_dual",
    "solve_inside",
    "tube",
]
