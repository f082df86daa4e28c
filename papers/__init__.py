"""The papers' tables and figures, computed again: one module for each paper, run by ``make papers``."""
