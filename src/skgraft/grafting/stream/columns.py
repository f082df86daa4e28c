"""What the two estimators over streams of columns share: blocks in, a model out."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from skgraft.arrays import Array
from skgraft.grafting.linear.estimators import LinearGraft
from skgraft.grafting.linear.fit import unconverged
from skgraft.grafting.stream.given import LinearCriterion, TrainingData, extended_index, is_same
from skgraft.grafting.stream.names import NameIndex, block_names
from skgraft.grafting.stream.state import Stream
from skgraft.grafting.stream.terms import Terms
from skgraft.grafting.stream.update import Block, update_stream
from skgraft.run import Ending, threads
from skgraft.tables import (
    named_columns,
    read_block,
    read_selected,
    read_table,
    sample_weights,
    take_named,
    weight_shares,
)

# what a change of makes another criterion, under which nothing is known of columns that are gone
_CRITERION = (
    "l1", "l2", "l0", "group_l1", "loss_", "delta", "penalty_weights", "feature_costs", "groups", "keep",
    "max_features", "max_cost", "fit_intercept", "standardize", "class_weight", "positive", "tol",
)  # fmt: skip
_SHOWN = 3  # names in a message
BUFFER = [None, Interval(Integral, 0, None, closed="left")]


class ColumnStream(LinearGraft):
    """Grafting over columns that arrive in blocks; mixed into a linear estimator, whose criterion it minimises.

    What a stream has come to is never changed but replaced, so that an error or Ctrl-C leaves everything as it was.
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Select features and learn from columns that are all there: one block.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,)
            Classes, or numbers.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples; a weight of two is the same as a repetition.

        Returns
        -------
        self
            The fitted estimator, to which further blocks may come.
        """
        self._validate_params()
        with self._all_or_nothing(), threads(self.n_jobs, X):
            problem = self._problem(X, y, sample_weight)
            columns: Any = problem.columns
            target = problem.target
            names = block_names(None, getattr(self, "feature_names_in_", None), columns.n_columns, 0)
            block = Block(columns.X, columns, 0, names, NameIndex().extended(names))
            criterion = LinearCriterion(self, target.y, target.weight, Terms(), problem)
            start = self._start(columns.centre, columns.scale, problem.n_outputs)
            self._stream = update_stream(None, block, criterion, self._controls(), self.buffer, start)
            weights = sample_weights(sample_weight, columns.X)
            self._given = TrainingData(target.y, self._codes(target.y), weights, target.weight)
            self._noted = self._criterion_now()
            self._strict = True
            self._conclude()
        self._tell_ending()
        return self

    def partial_fit_features(self, X_block: Any, y: Any, names: Any = None, sample_weight: Any = None) -> Any:
        """Go on with further columns.

        Parameters
        ----------
        X_block : array-like, data frame or sparse matrix of shape (n_samples, n_columns)
            The columns that arrive, of the same samples as all before.
        y : array-like of shape (n_samples,)
            Targets, the same in every call.
        names : list of str, optional
            Names of the columns.  By default those of a data frame, and else ``x`` with the position in the stream.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples, given with the first block; later ones may repeat or omit them.

        Returns
        -------
        self
            The estimator, fitted to all columns so far.
        """
        self._validate_params()
        with self._all_or_nothing(), threads(self.n_jobs, X_block):
            self._take(X_block, y, names, sample_weight, verbose=int(self.verbose))
            self._conclude()
        self._tell_ending()
        return self

    def fit_stream(self, blocks: Iterable[Any], y: Any, *, sample_weight: Any = None, passes: int = 1) -> Any:
        """Select features and learn from blocks of columns.

        Parameters
        ----------
        blocks : iterable
            Blocks as :meth:`partial_fit_features` takes them, or pairs of a block and the names of its columns.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples.
        passes : int, default=1
            How often to read the columns at most.  A further pass finds what a full buffer let go too early; it is left
            out when the model is already certified.  More than one needs blocks that can be iterated over again.

        Returns
        -------
        self
            The fitted estimator.  If a block is refused, the error says which, and the estimator is fitted to the
            blocks before it.
        """
        self._validate_params()
        if not isinstance(passes, Integral) or isinstance(passes, bool) or passes < 1:
            msg = f"passes must be a whole number of at least 1; got {passes!r}"
            raise ValueError(msg)
        if passes > 1 and iter(blocks) is blocks:
            msg = (
                f"passes={passes} reads the blocks again, but a {type(blocks).__name__} can be read only once: give "
                "a list or another iterable that starts anew, or set passes=1"
            )
            raise ValueError(msg)
        with threads(self.n_jobs):
            self._read_stream(blocks, y, sample_weight, int(passes))
        self._tell_ending()
        return self

    def _read_stream(self, blocks: Iterable[Any], y: Any, sample_weight: Any, passes: int) -> None:
        """Read the blocks, more than once if need be; whatever happens, what was read is in the model."""
        before = getattr(self, "_stream", None)
        try:
            for number in range(passes):
                if number:
                    self._stream = self._stream.reopened()
                if not self._read_pass(blocks, y, sample_weight, number):
                    return
                self._stream = self._stream.passed()
                if self._stream.certificate(self.tol).converged:
                    break
            self._warn_of_unclaimed()
        except KeyboardInterrupt:
            if getattr(self, "_stream", None) is before:
                raise  # nothing was fitted yet
            self._stream = self._stream.cut_short()
        finally:
            if getattr(self, "_stream", None) is not before:
                self._stream = self._stream.passed()
                self._conclude()
            if self.verbose:
                sys.stderr.write("\n")

    def _read_pass(self, blocks: Iterable[Any], y: Any, sample_weight: Any, number: int) -> bool:
        """Read all blocks once; returns whether to go on, which Ctrl-C and the callback may deny."""
        started, count = time.perf_counter(), 0
        for item in blocks:
            count += 1  # enumerate would hold on to a block while the next one is made
            X_block, names = item if isinstance(item, tuple) and len(item) == 2 else (item, None)
            first = number == 0 and count == 1
            fresh = first and not self.warm_start
            try:
                with self._all_or_nothing():
                    self._take(X_block, y, names, sample_weight, fresh=fresh, told=not first)
            except Exception as error:
                error.add_note(f"(in block {count} of the stream; the model has learned from the blocks before it)")
                raise
            del X_block, item
            self._show(started, number)
            if self._stream.known.interrupted or self._stream.known.stopped:
                return False
        self._require_all(number, count)
        return True

    def _require_all(self, number: int, count: int) -> None:
        if not count:
            raise ValueError("blocks holds no block: there is nothing to learn from")
        stream = self._stream
        if stream.again is not None and stream.again.read < stream.seen:
            msg = (
                f"pass {number + 1} brought {stream.again.read} columns, but the first brought {stream.seen}: blocks "
                "must give the same columns whenever they are iterated over"
            )
            raise ValueError(msg)

    # -- one block -----------------------------------------------------------------------------------------

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        before = dict(vars(self))
        try:
            yield
        except BaseException:
            self.__dict__ = before
            raise

    def _take(
        self,
        X_block: Any,
        y: Any,
        names: Any,
        sample_weight: Any,
        *,
        fresh: bool = False,
        told: bool = False,
        verbose: int = 0,
    ) -> None:
        """Absorb a block: into a new stream if ``fresh``, else into the present one.

        ``told`` says that y and the weights are those of the block before.
        """
        before: Stream | None = None if fresh else getattr(self, "_stream", None)
        if told:
            X, given = read_block(self, X_block, check_finite=False), self._given
            given.require_rows(X.shape[0])
        else:
            X, given = self._read(X_block, y, sample_weight, None if before is None else self._given)
        start = 0 if before is None else (before.seen if before.again is None else before.again.read)
        names = block_names(names, getattr(self, "feature_names_in_", None), X.shape[1], start)
        index = extended_index(before, names, start)
        block = Block(X, self._columns(X, given.weight, names), start, names, index)
        criterion = LinearCriterion(self, given.target, given.weight, self._terms())
        if self.group_l1 > 0.0:
            criterion.terms.require_whole_bags(block.positions, names)
        noted = self._criterion_now()
        if before is not None and not is_same(noted, self._noted):
            before = before.distrusted(criterion.over(block.columns, block.positions, names).target)
        self._stream = update_stream(before, block, criterion, replace(self._controls(), verbose=verbose), self.buffer)
        self._given, self._noted, self._strict = given, noted, False

    def _read(self, X_block: Any, y: Any, sample_weight: Any, before: TrainingData | None) -> tuple[Any, TrainingData]:
        """Read a block, its target and weights, which must be those given before."""
        classes = getattr(self, "classes_", None)
        if before is not None and sample_weight is None:
            sample_weight = before.sample_weight
            if np.shape(X_block)[:1] != sample_weight.shape:
                sample_weight = None  # the number of rows is at fault, and reading the block will say so
        X, target, weight = self._encoded(X_block, y, sample_weight)
        now = TrainingData(target, self._codes(target), sample_weights(sample_weight, X), weight_shares(weight))
        if before is not None:
            before.require_same(now, classes, getattr(self, "classes_", None))
        return X, now

    def _codes(self, target: Array) -> NDArray[Any]:
        """Return what a target says whatever the loss it is encoded for."""
        if not hasattr(self, "classes_"):
            return target
        return target.argmax(axis=1) if target.shape[1] > 1 else target[:, 0] > 0.0

    def _criterion_now(self) -> dict[str, Any]:
        return {name: getattr(self, name, None) for name in _CRITERION}

    def _terms(self) -> Terms:
        """Return what is said of features, read again only when something else is said."""
        said = (self.groups, self.feature_costs, self.keep, self.penalty_weights)
        known = getattr(self, "_said", None)
        if known is None or any(a is not b for a, b in zip(known[0], said, strict=True)):
            self._said = said, Terms(*said)
        return self._said[1]

    # -- the result ----------------------------------------------------------------------------------------

    def _conclude(self) -> None:
        """Set the fitted attributes, except those that take a number for every column of the stream."""
        stream = self._stream
        self.intercept_: Any = stream.intercept[0] if getattr(self, "_single_target", False) else stream.intercept
        self.order_ = stream.order
        self.objective_ = stream.known.objective
        self.certificate_ = stream.certificate(self.tol)
        self.history_ = stream.history
        self.total_cost_ = stream.known.total_cost
        self.n_iter_ = max(1, len(stream.history))
        self.n_features_in_ = self.n_features_seen_ = stream.seen
        self.n_forgotten_ = stream.n_forgotten
        self.n_untested_ = stream.n_untested
        if not self._strict and hasattr(self, "feature_names_in_"):
            del self.feature_names_in_  # of the last block only

    def _tell_ending(self) -> None:
        """Pass Ctrl-C on, or warn of a model that is not optimal over the columns in memory."""
        known, controls = self._stream.known, self._controls()
        violation = self.certificate_.kkt_violation
        reached = known.finished and violation <= self.tol * (1.0 + 1e-6)
        silent = reached or known.stopped or not controls.effort.is_stationary
        Ending(known.interrupted, None if silent else unconverged(controls, violation)).tell()

    def _show(self, started: float, number: int) -> None:
        if self.verbose:
            stream = self._stream
            read = stream.seen if stream.again is None else stream.again.read
            sys.stderr.write(
                f"\rstreaming: pass {number + 1}, {read} columns, {int(stream.held.selected.sum())} features, "
                f"criterion {stream.known.objective:.6g}, {time.perf_counter() - started:.1f} s "
            )
            sys.stderr.flush()

    def _warn_of_unclaimed(self) -> None:
        """Warn of features that a parameter speaks of and that never came."""
        stream = self._stream
        missing = [
            f"{reference!r} (in {parameter})"
            for parameter, reference in self._terms().references()
            if not (stream.names.find(reference) is not None if isinstance(reference, str) else reference < stream.seen)
        ]
        if missing:
            more = f" and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else ""
            warnings.warn(
                f"The stream has ended without columns that parameters speak of: {', '.join(missing[:_SHOWN])}{more}.",
                stacklevel=5,
            )

    @property
    def support_(self) -> NDArray[np.bool_]:  # type: ignore[override]
        """The selected features, as a mask over all columns seen."""
        stream = self._fitted()
        mask = np.zeros(stream.seen, bool)
        mask[stream.held.positions[stream.held.selected]] = True
        return mask

    @property
    def coef_(self) -> Array:
        """Weights on the original scale, of all columns seen."""
        stream = self._fitted()
        coef = np.zeros((stream.held.coef.shape[1], stream.seen))
        coef[:, stream.held.positions] = stream.held.coef.T
        return coef[0] if getattr(self, "_single_target", False) else coef

    @coef_.deleter
    def coef_(self) -> None:
        del self._stream  # with other classes there is nothing to start from

    @property
    def selected_names_(self) -> NDArray[Any]:
        """Names of the selected columns, by their positions in the stream."""
        held = self._fitted().held
        return np.array([held.names[k] for k in np.flatnonzero(held.selected)], dtype=object)

    @property
    def buffer_names_(self) -> NDArray[Any]:
        """Names of the columns in the buffer, the most promising first."""
        held = self._fitted().held
        others = np.flatnonzero(~held.selected)
        return np.array([held.names[k] for k in others[np.argsort(held.rank[others], kind="stable")]], dtype=object)

    def _fitted(self) -> Stream:
        if "_stream" not in vars(self):
            msg = f"this {type(self).__name__} has not been fitted to any columns yet"
            raise AttributeError(msg)
        return self._stream

    # -- new samples ---------------------------------------------------------------------------------------

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the selected columns.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of all columns seen, to be used in place of their own.

        Returns
        -------
        ndarray of str
            In the order of the columns in the stream.
        """
        check_is_fitted(self)
        if self._strict or input_features is not None:
            return super().get_feature_names_out(input_features)
        return self.selected_names_

    def transform(self, X: Any) -> Any:
        """Return the selected columns.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix
            Samples, with columns as for ``predict``.

        Returns
        -------
        array, data frame or sparse matrix of shape (n_samples, n_selected)
            The selected columns, in the order of the stream.
        """
        check_is_fitted(self)
        if self._strict:
            return super().transform(X)
        if not self._stream.held.selected.any():
            warnings.warn("No features were selected: the transformed X has no columns.", stacklevel=2)
        return self._selected_columns(X)

    def _scores(self, X: Any) -> Array:
        check_is_fitted(self)
        held = self._stream.held
        chosen = np.flatnonzero(held.selected)
        return np.asarray(self._selected_columns(X) @ held.coef[chosen]) + np.atleast_1d(self.intercept_)

    def _selected_columns(self, X: Any) -> Any:
        """Return the selected columns of new samples."""
        if self._strict:
            return read_selected(self, X, self.support_)
        held = self._stream.held
        positions = held.positions[held.selected]
        names = named_columns(X)
        # columns that came without names are known by no others, and a table may be as good as an array
        if names is not None and (self._stream.names.parts or not set(names).isdisjoint(self.selected_names_)):
            return self._by_name(X)
        X = read_block(type(self)(), X)
        if X.shape[1] == self.n_features_seen_:
            return X[:, positions]
        if X.shape[1] == positions.size:
            return X
        msg = (
            f"X has {X.shape[1]} columns without names: {type(self).__name__} needs the {positions.size} selected "
            f"ones, in the order of the stream, or all {self.n_features_seen_} that it has seen"
        )
        raise ValueError(msg)

    def _by_name(self, X: Any) -> Any:
        wanted = self.selected_names_
        if not wanted.size:
            return np.empty((len(X), 0))
        return read_table(self, take_named(X, wanted, f", which {type(self).__name__} has selected"))
