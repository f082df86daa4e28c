"""Figure 3 and table 3: error, number of features, saliency and time of the algorithms, ours beside the paper's."""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from papers._grafting import discussion, paper
from papers._grafting.algorithms import ALGORITHMS, rows
from papers._grafting.comparison import CHOSEN, STATED, Run
from papers._grafting.measures import (
    NETWORK_VARIANT,
    VARIANT,
    Measure,
    Runs,
    error,
    n_features,
    ratios,
    saliency,
    seconds,
    stated_ratios,
)
from papers._tables import ABSENT, Table, mean_and_error, written

SAYS = "the paper says"
UNFINISHED = "†"


def error_tables(runs: Sequence[Run], instances: int, missing: Mapping[str, str]) -> list[Table]:
    """Return the three panels of figure 3 as tables, and the parameters chosen beside table 2."""
    found = Runs(runs)
    absent = [f"Data set {name} is missing: {reason}" for name, reason in missing.items()]
    return [
        _measured(
            f"Figure 3, test error: mean of {instances} instances or splits",
            found,
            error,
            paper.ERROR,
            3,
            [*absent, *discussion.of_errors(found)],
        ),
        _measured("Figure 3, number of features", found, n_features, paper.FEATURES, 1, discussion.of_features(found)),
        _measured("Figure 3, saliency", found, saliency, paper.SALIENCY, 2, discussion.of_saliency(found)),
        _parameters(found),
    ]


def _versions(*keys: str) -> tuple[str, ...]:
    """Return the versions of a row: two, or one that is empty where an algorithm is not there yet."""
    return (CHOSEN, STATED) if set(keys) <= set(ALGORITHMS) else (ABSENT,)


def _measured(
    title: str,
    found: Runs,
    measure: Measure,
    stated: Mapping[str, Mapping[str, str]],
    digits: int,
    remarks: Sequence[str],
) -> Table:
    """Return a table with two rows of ours and one of the paper's for each algorithm."""
    lines = []
    for key, name in rows():
        label = f"({key}) {name}"
        for version in _versions(key):
            cells = [_cell(found, key, version, data_set, measure, digits) for data_set in paper.DATA_SETS]
            lines.append([label, version, *cells])
        if key in stated:
            lines.append([label, SAYS, *(stated[key].get(data_set, ABSENT) for data_set in paper.DATA_SETS)])
    marked = any(cell.endswith(UNFINISHED) for line in lines for cell in line)
    note = [f"{UNFINISHED} some of these fits did not end by themselves or did not converge."] if marked else []
    return Table(title, ["algorithm", "parameters", *paper.DATA_SETS], lines, [*note, *remarks])


def _cell(found: Runs, key: str, version: str, data_set: str, measure: Measure, digits: int) -> str:
    values = found.values(key, version, data_set, measure)
    if not values:
        return ABSENT
    finished = all(run.converged for run in found.of(key, version, data_set))
    return written(*mean_and_error(values), digits) + ("" if finished else f" {UNFINISHED}")


def _parameters(found: Runs) -> Table:
    lines = []
    for key, algorithm in ALGORITHMS.items():
        if algorithm.same_as is None:
            label = f"({key}) {algorithm.name}"
            ours = [_commonest(found.of(key, CHOSEN, data_set)) for data_set in paper.DATA_SETS]
            lines.append([label, CHOSEN, *ours])
            lines.append([label, STATED, *(_spelt(algorithm.stated[name]) for name in paper.DATA_SETS)])
    return Table(
        "Table 2: the parameters that five-fold cross-validation chose most often, and the paper's",
        ["algorithm", "parameters", *paper.DATA_SETS],
        lines,
        [
            "In brackets: in how many instances. Of parameters with equal error the most restrictive are taken.",
            "(a') and (c) share the l1 of (a), as (a) and (c) do in the paper; (b) and (d) the parameters of (b').",
            *_edge_remarks(found),
        ],
    )


def _edge_remarks(found: Runs) -> list[str]:
    """Say how often a choice was the smallest or largest value tried, beyond which a better one may lie."""
    remarks = []
    for key, algorithm in ALGORITHMS.items():
        runs = [run for data_set in paper.DATA_SETS for run in found.of(key, CHOSEN, data_set)]
        for name in algorithm.grid[0] if algorithm.grid else ():
            tried = {parameters[name] for parameters in algorithm.grid}
            at_end = [sum(run.parameters[name] == end(tried) for run in runs) for end in (min, max)]
            remarks.append(
                f"({key}): {name} is the smallest of the {len(tried)} values tried, {min(tried):g}, in {at_end[0]} of "
                f"{len(runs)} choices, and the largest, {max(tried):g}, in {at_end[1]}."
            )
    return remarks


def _commonest(runs: Sequence[Run]) -> str:
    if not runs:
        return ABSENT
    (choice, count), *_ = Counter(_spelt(run.parameters) for run in runs).most_common()
    return f"{choice} ({count} of {len(runs)})"


def _spelt(parameters: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:g}" for name, value in parameters.items())


def time_tables(runs: Sequence[Run], instances: int, missing: Mapping[str, str]) -> list[Table]:
    """Return table 3: seconds, and how many times longer gradient descent on all weights takes than grafting."""
    found = Runs(runs)
    lines: list[list[str]] = []
    for key, name in rows():
        if (key in ALGORITHMS and not ALGORITHMS[key].timed) or key in {"g", "h"}:
            continue
        label = f"({key}) {name}"
        lines.extend([label, version, *_seconds_cells(found, key, version)] for version in _versions(key))
        if key in paper.SECONDS:
            lines.append([label, SAYS, *_stated_seconds(key)])
    for slow, fast in (("c", "a"), ("c", VARIANT), ("d", "b"), ("d", NETWORK_VARIANT)):
        lines.extend(_ratio_lines(found, slow, fast))
    absent = [f"Data set {name} is missing: {reason}" for name, reason in missing.items()]
    title = f"Table 3: seconds of processor time, mean of {instances} instances, and ratios"
    return [Table(title, ["algorithm", "parameters", *paper.DATA_SETS], lines, [*absent, *discussion.of_times(found)])]


def _seconds_cells(found: Runs, key: str, version: str) -> list[str]:
    means = [found.mean(key, version, data_set, seconds) for data_set in paper.DATA_SETS]
    return [ABSENT if np.isnan(mean) else f"{mean:.3g}" for mean in means]


def _stated_seconds(key: str) -> list[str]:
    return [f"{paper.SECONDS[key][name]:g}" if name in paper.SECONDS[key] else ABSENT for name in paper.DATA_SETS]


def _ratio_lines(found: Runs, slow: str, fast: str) -> list[list[str]]:
    label = f"ratio ({slow}) / ({fast})"
    versions = _versions(slow, fast)
    lines = [[label, version, *_ratio_cells(ratios(found, slow, fast, version))] for version in versions]
    if fast in paper.SECONDS:
        lines.append([label, SAYS, *_ratio_cells(stated_ratios(slow, fast))])
    return lines


def _ratio_cells(numbers: Sequence[float]) -> list[str]:
    return [ABSENT if np.isnan(number) else f"{number:.2g}" if number < 100 else f"{number:.0f}" for number in numbers]
