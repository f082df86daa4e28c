"""From a problem to a fitted network: restarts, held-out rows, the last re-optimisation, the certificate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from skgraft.arrays import Array, Index
from skgraft.criterion import NOT_CONVERGED, NOT_STATIONARY, WEIGHTS, Certificate
from skgraft.grafting.effort import FULL, Effort
from skgraft.grafting.loop import Settings, graft, record_step
from skgraft.grafting.network.model import NetworkModel, Saved
from skgraft.grafting.network.problem import NetworkProblem
from skgraft.grafting.network.wiring import Network, scores
from skgraft.run import Controls, Fit, History, Monitor, Record

BATCH_UNITS = 10  # of a network that is fully connected from the start
FALL_SHARE = 0.02  # share of min_gain below which a fall of the criterion ends a re-optimisation
LEAST_FALL = 1e-6
ROUNDING = 1e-14  # a violation that means nothing, for losses of order one


@dataclass(frozen=True)
class HeldOut:
    """Rows that only tell when to stop: standardised like the others, with their targets and weights."""

    rows: Callable[[Index], Array]
    y: Array
    weight: Array
    patience: int

    def loss(self, problem: NetworkProblem, net: Network) -> float:
        """Return the loss of a network on these rows."""
        return problem.target.loss.value(scores(net, self.rows(net.features))[1], self.y, self.weight)


@dataclass(frozen=True, kw_only=True)
class NetworkControls(Controls):
    """How to fit: everything that is not part of the criterion."""

    effort: Effort = FULL
    selection: str = "trial"
    select_unit: int | str = "auto"
    on_increase: str = "stop"
    min_gain: float = 0.0
    n_restarts: int = 1
    held_out: HeldOut | None = None
    seed: int = 0

    @property
    def stationary(self) -> bool:
        """Whether the weights are to end without slope: not where held-out rows choose among steps on the way."""
        return self.effort.is_stationary and self.held_out is None


@dataclass(frozen=True, eq=False, kw_only=True)
class NetworkFit(Fit):
    """A fitted network in standardised coordinates, and its losses on held-out rows."""

    net: Network
    validation: tuple[float, ...]


class Watch:
    """Looks at held-out rows after every step, keeps the best network and says when to stop."""

    def __init__(self, model: NetworkModel, controls: NetworkControls) -> None:
        self._model, self._controls = model, controls
        self.losses: list[float] = []
        self.best: Saved | None = None
        self.enough = False

    def __call__(self, record: Record) -> bool:
        """Look at a step; returns whether it was the last."""
        held_out, callback = self._controls.held_out, self._controls.callback
        if held_out is not None and record.kind != "undo":
            loss = held_out.loss(self._model.problem, self._model.net)
            if not self.losses or loss < min(self.losses):
                self.best = self._model.save()
            self.losses.append(loss)
            self.enough = len(self.losses) - 1 - int(np.argmin(self.losses)) >= held_out.patience
        asked = callback is not None and bool(callback(record))
        return asked or self.enough


def fit_network(problem: NetworkProblem, controls: NetworkControls) -> NetworkFit:
    """Grow a network, from as many starts as asked for, and return the one with the least criterion."""
    fits: list[NetworkFit] = []
    for restart in range(controls.n_restarts):
        rng = np.random.default_rng([controls.seed, restart])
        fit, by_user = _fit_once(problem, controls, rng, random=restart > 0)
        fits.append(fit)
        if by_user:
            break
    best = min(fits, key=lambda each: each.objective)
    return replace(best, ending=fits[-1].ending) if by_user else best


def _fit_once(
    problem: NetworkProblem, controls: NetworkControls, rng: np.random.Generator, *, random: bool
) -> tuple[NetworkFit, bool]:
    """Grow one network; returns it and whether the user ended its growth."""
    fall = max(LEAST_FALL, FALL_SHARE * controls.min_gain)
    model = NetworkModel(problem, fall, rng if random else None, by_gradient=controls.selection == "gradient")
    watch = Watch(model, controls)
    monitor = replace(controls, callback=watch).monitor("network")
    settings = _settings(problem, controls, model)
    finished = False
    with monitor.watch():
        monitor.latest = model.save()
        _begin(model, controls, rng, monitor)
        finished = graft(model, settings, monitor)
        _conclude(model, settings, monitor)
        monitor.latest = model.save()
    model.restore(monitor.latest if watch.best is None else watch.best)
    finished = finished or (monitor.stopped and watch.enough)
    fit = _result(model, controls, monitor.history, tuple(watch.losses), finished=finished)
    left = _what_is_left(fit, controls, finished=finished)
    ending = monitor.ending(left or "", converged=left is None)
    return replace(fit, ending=ending), monitor.interrupted or (monitor.stopped and not watch.enough)


def _what_is_left(fit: NetworkFit, controls: NetworkControls, *, finished: bool) -> str | None:
    """Return what keeps a network from being a local minimum, None if nothing does or none was looked for."""
    if not finished:
        return f"The network still grew after max_iter={controls.max_iter} steps. Raise max_iter, l0 or min_gain."
    if fit.certificate.converged or not controls.stationary:
        return None
    return (
        f"The weights did not reach tol={controls.tol:g}: the largest violation left is "
        f"{fit.certificate.kkt_violation:.1e}. Raise tol or l1, or lower max_units or max_connections."
    )


def _settings(problem: NetworkProblem, controls: NetworkControls, model: NetworkModel) -> Settings:
    return Settings(
        effort=controls.effort,
        select_unit=controls.select_unit,
        on_increase=controls.on_increase,
        tol=controls.tol * model.null_excess,
        max_iter=controls.max_iter,
        priced=True,
        max_features=problem.prices.max_features,
        max_cost=problem.prices.max_cost,
        min_gain=controls.min_gain,
    )


def _begin(model: NetworkModel, controls: NetworkControls, rng: np.random.Generator, monitor: Monitor) -> None:
    """Put in what is there from the start: kept features, or everything."""
    if controls.effort.opens_everything:
        model.open_everything(model.problem.max_units or BATCH_UNITS, rng)
        record_step(monitor, model, "optimize")
    elif model.problem.prices.kept.any():
        model.open_kept()
        record_step(monitor, model, "unit")


def _conclude(model: NetworkModel, settings: Settings, monitor: Monitor) -> None:
    """Re-optimise all free weights until nothing is gained."""
    if not settings.effort.is_stationary:
        return
    before = model.objective()
    model.finish(settings.tol)
    model.prune(generous=False)
    if model.objective() < before:
        record_step(monitor, model, "optimize")


def _result(
    model: NetworkModel, controls: NetworkControls, history: History, validation: tuple[float, ...], *, finished: bool
) -> NetworkFit:
    net = model.net
    violation = model.open_violation()
    # where nothing pulls at the empty network, and what is left is rounding, there is nothing to divide by
    violation = 0.0 if max(violation, controls.tol * model.null_excess) <= ROUNDING else violation / model.null_excess
    return NetworkFit(
        net=replace(net, b=net.b - net.b.mean()) if model.problem.target.loss.coupled else net,
        support=model.support(),
        order=model.order(model.save()),
        objective=model.objective(),
        total_cost=model.total_cost,
        certificate=_certificate(violation, controls, finished=finished),
        history=history,
        validation=validation,
    )


def _certificate(violation: float, controls: NetworkControls, *, finished: bool) -> Certificate:
    """Return what is certified of a network; its criterion is not convex, so never more than its weights."""
    converged = finished and violation <= controls.tol * (1.0 + 1e-6)
    otherwise = NOT_STATIONARY if finished and not controls.stationary else NOT_CONVERGED
    return Certificate(violation, None, converged, WEIGHTS if converged else otherwise)
