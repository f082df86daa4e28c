"""Linear programs by column generation beside HiGHS on the full program, and the cost of a whole path.

    python -m benchmarks._zeronorm_programs [--quick]

The program is that of the support vector machine with an l1 norm, soft at shares of the largest l1, or hard.  Times
are seconds of CPU on one thread: the whole fit for skgraft, validation and certificate included; for HiGHS the
solution alone, of a program that lies ready.  HiGHS gets the program in both its forms, with its presolve and its own
choices otherwise; the tolerance is that of the programs inside skgraft, 1e-9.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from benchmarks._problems import Problem, data_folder, dense, golub, news_2, pcmac
from benchmarks._table import markdown, ratio

Array = NDArray[np.float64]
Note = Callable[[str], None]

SHARES = (0.5, 0.2, 0.05)
SIZES = ((96, 4026), (38, 7129), (200, 20_000), (200, 100_000), (20_000, 200), (2_000, 500))
QUICK_SIZES = ((30, 400), (200, 40))
PATH = 50  # values of a path
TOLERANCE = 1e-9
LIMIT = 40.0  # seconds that HiGHS may take for a program
ENOUGH = 5.0  # seconds after which nothing is timed again
FORMS = ("primal", "dual")

ABOUT_PROGRAMS = (
    "The support vector machine with an l1 norm, soft at a share of the largest l1, or hard. Seconds of CPU, one "
    "thread: the whole fit for skgraft, the solution alone for HiGHS, in the primal form (a column for each feature "
    "and sign) and in the dual (a row for each feature); in brackets, how many times as long as skgraft, in bold where "
    "HiGHS is faster. Last, the largest relative difference between the optima."
)
ABOUT_PATHS = (
    "From the smallest l1 that selects nothing to a hundredth of it, certificates included, beside a fit of the last "
    "value alone."
)


@dataclass(frozen=True)
class Machine:
    """A program: samples times their signs, what weights cost and what slack costs (infinite: there may be none)."""

    name: str
    Z: Any
    sign: Array
    cost: float
    price: float


# --------------------------------------------------------------------------------------- HiGHS, the full program


def full_program(machine: Machine, form: str) -> Any:
    """Return the program with all columns (or rows, in its dual form) as HiGHS takes it."""
    import highspy

    m, n = machine.Z.shape
    infinity = highspy.kHighsInf
    ones, every = np.ones(m), np.full(n, machine.cost)
    price = np.full(m, min(machine.price, infinity))
    if form == "primal":
        parts = [machine.Z, -machine.Z, machine.sign[:, None], sp.eye_array(m)]
        slack = np.full(m, infinity if np.isfinite(machine.price) else 0.0)
        cost = np.concatenate([every, every, [0.0], np.where(np.isfinite(price), price, 0.0)])
        lower = np.concatenate([np.zeros(2 * n), [-infinity], np.zeros(m)])
        upper = np.concatenate([np.full(2 * n, infinity), [infinity], slack])
        matrix, row_lower, row_upper = sp.hstack(parts, format="csc"), ones, np.full(m, infinity)
    else:
        matrix = sp.vstack([machine.Z.T, machine.sign[None, :]], format="csc")
        cost, lower, upper = -ones, np.zeros(m), price
        row_upper = np.concatenate([every, [0.0]])
        row_lower = -row_upper
    program = highspy.HighsLp()
    program.num_col_, program.num_row_ = matrix.shape[1], matrix.shape[0]
    program.col_cost_, program.col_lower_, program.col_upper_ = cost, lower, upper
    program.row_lower_, program.row_upper_ = row_lower, row_upper
    program.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    program.a_matrix_.start_, program.a_matrix_.index_ = matrix.indptr, matrix.indices
    program.a_matrix_.value_ = matrix.data
    return program


def solve_full(program: Any, limit: float) -> tuple[float, float | None]:
    """Return HiGHS's seconds and its optimum, None where it found none in time."""
    import highspy

    highs: Any = highspy.Highs()
    for option, value in (
        ("output_flag", False),
        ("threads", 1),
        ("time_limit", limit),
        ("primal_feasibility_tolerance", TOLERANCE),
        ("dual_feasibility_tolerance", TOLERANCE),
    ):
        highs.setOptionValue(option, value)
    highs.passModel(program)
    start = time.process_time()
    highs.run()
    seconds = time.process_time() - start
    if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return seconds, None
    return seconds, abs(float(highs.getInfo().objective_function_value))


# ----------------------------------------------------------------------------------------------------- skgraft


def solve_ours(problem: Problem, machine: Machine) -> tuple[float, float, int]:
    """Return our seconds, the optimum and the number of features."""
    from skgraft import L1SVC
    from skgraft.matrix import make_columns
    from skgraft.svm.margins import two_classes
    from skgraft.zeronorm.column_generation import Controls, fit_program
    from skgraft.zeronorm.programs import Program

    start = time.process_time()
    if np.isfinite(machine.price):
        model = L1SVC(l1=machine.cost, standardize=False).fit(problem.X, problem.y)
        value, support = model.objective_, model.support_
    else:
        m, n = machine.Z.shape
        columns = make_columns(problem.X, np.full(m, 1.0 / m), center=True, standardize=False)
        margins = two_classes(machine.sign)
        program = Program(columns, margins, np.full(m, np.inf), np.full(n, machine.cost), intercept=True)
        fit = fit_program(program, Controls())
        value, support = fit.objective, fit.support
    return time.process_time() - start, float(value), int(support.sum())


# -------------------------------------------------------------------------------------------------- the sections


def problems(*, quick: bool) -> Iterator[Problem]:
    """Yield the problems, real ones where their data are there."""
    for n, p in QUICK_SIZES if quick else SIZES:
        yield dense("logistic", n, p, n_relevant=min(10, p // 10))
    folder = data_folder()
    if quick or folder is None:
        return
    for read in (golub, pcmac, news_2):
        yield read(folder)


def machines(problem: Problem) -> Iterator[tuple[str, Machine]]:
    """Yield the programs of a problem: soft ones at shares of the largest l1, and a hard one where columns abound."""
    from skgraft import l1_svc_path

    sign = np.asarray(problem.y, dtype=float)
    Z = sp.csc_array(sp.diags_array(sign) @ sp.csc_array(problem.X))
    m, n = Z.shape
    top = float(l1_svc_path(problem.X, problem.y, n_values=1, standardize=False).l1s[0])
    for share in SHARES:
        yield f"{share:g}", Machine(problem.name, Z, sign, share * top, 1.0 / m)
    if n > 10 * m:
        yield "hard", Machine(problem.name, Z, sign, 1.0, np.inf)


def measure(note: Note, *, quick: bool = False, repeat: int = 3, limit: float = LIMIT) -> dict[str, Any]:
    """Return the times of programs and of paths."""
    found: dict[str, Any] = {"programs": [], "paths": []}
    with threadpool_limits(1):
        for problem in problems(quick=quick):
            warm_up(problem)
            for share, machine in machines(problem):
                row = compare(problem, share, machine, repeat, limit)
                note(f"{row['problem']}, {share}: {row}")
                found["programs"].append(row)
            found["paths"].append(walk(problem, repeat))
            note(f"{found['paths'][-1]}")
    return found


def warm_up(problem: Problem) -> None:
    """Load what is compiled."""
    from skgraft import L1SVC

    L1SVC(l1=1e3, standardize=False).fit(problem.X, problem.y)


def compare(problem: Problem, share: str, machine: Machine, repeat: int, limit: float) -> dict[str, Any]:
    """Return the times of all contestants on a program, taken in turns."""
    name = problem.name.removeprefix("logistic ")
    row: dict[str, Any] = {"problem": name, "share": share, "limit": limit, "differences": {}}
    times: dict[str, list[float]] = {"skgraft": [], **{form: [] for form in FORMS}}
    programs = {form: full_program(machine, form) for form in FORMS}
    for turn in range(repeat):
        seconds, value, row["n_features"] = solve_ours(problem, machine)
        times["skgraft"].append(seconds)
        for form in FORMS:
            if turn and sum(times[form]) > ENOUGH:
                continue
            seconds, optimum = solve_full(programs[form], limit)
            times[form].append(seconds)
            row["differences"][form] = None if optimum is None else abs(value - optimum) / max(abs(optimum), 1e-300)
    return row | {name: median(taken) for name, taken in times.items()}


def walk(problem: Problem, repeat: int) -> dict[str, Any]:
    """Return the time of a path and of its last point alone."""
    from skgraft import L1SVC, l1_svc_path

    whole, last = [], []
    for turn in range(repeat):
        if turn and sum(whole) > ENOUGH:
            break
        start = time.process_time()
        path = l1_svc_path(problem.X, problem.y, n_values=PATH, standardize=False)
        whole.append(time.process_time() - start)
        start = time.process_time()
        L1SVC(l1=path.l1s[-1], standardize=False).fit(problem.X, problem.y)
        last.append(time.process_time() - start)
    worst = max(point.certificate.duality_gap for point in path)
    name = problem.name.removeprefix("logistic ")
    return {
        "problem": name,
        "path": median(whole),
        "last": median(last),
        "n_features": int(path.n_selected[-1]),
        "gap": worst,
    }


def render(found: dict[str, Any]) -> str:
    """Return the tables."""
    parts = [
        "## Linear programs: column generation beside HiGHS on the full program",
        ABOUT_PROGRAMS,
        _program_table(found["programs"]),
        f"## The path of {PATH} values",
        ABOUT_PATHS,
        _path_table(found["paths"]),
    ]
    return "\n\n".join(parts)


def _program_table(rows: Sequence[dict[str, Any]]) -> str:
    body = []
    for row in rows:
        known = [value for value in row["differences"].values() if value is not None]
        apart = f"{max(known):.0e}" if known else "–"
        peers = [_peer(row, form) for form in FORMS]
        body.append([row["problem"], row["share"], str(row["n_features"]), _seconds(row["skgraft"]), *peers, apart])
    return markdown(["problem", "l1 / largest", "features", "skgraft", "HiGHS", "HiGHS, dual", "difference"], body)


def _peer(row: dict[str, Any], form: str) -> str:
    times = row[form] / row["skgraft"]
    text = _seconds(row[form]) if row["differences"][form] is not None else f"> {_seconds(row[form])}"
    shown = f"{text} ({ratio(times)})"
    return f"**{shown}**" if times < 1.0 else shown


def _path_table(rows: Sequence[dict[str, Any]]) -> str:
    body = [
        [
            row["problem"],
            _seconds(row["path"]),
            _seconds(row["last"]),
            ratio(row["path"] / row["last"]),
            str(row["n_features"]),
            f"{row['gap']:.0e}",
        ]
        for row in rows
    ]
    return markdown(["problem", "path", "last value", "ratio", "features", "largest gap"], body)


def _seconds(value: float) -> str:
    return f"{value:.3f}" if value < 1.0 else f"{value:.1f}"


def main() -> None:
    """Measure and print."""
    from benchmarks.linear import note

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small problems")
    parser.add_argument("--repeat", type=int, default=3, help="timed runs of each contestant")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds that HiGHS may take")
    given = parser.parse_args()
    print(render(measure(note, quick=given.quick, repeat=given.repeat, limit=given.limit)))


if __name__ == "__main__":
    main()
