"""The parts of :mod:`papers.grafting`: problems, algorithms, experiments and how their results are shown."""
