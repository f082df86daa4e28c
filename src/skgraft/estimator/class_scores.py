"""From scores to classes and probabilities, for every classifier."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if

from skgraft.arrays import Array
from skgraft.criterion import Loss, loss_facts


def one_or_all(scores: Array) -> Array:
    """Return scores (n_samples, n_outputs) as scikit-learn has them: with two classes, that of the second alone."""
    if scores.shape[1] == 1:
        return scores[:, 0]
    return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores


class ClassScores(ClassifierMixin):
    """Classes by their scores, which ``_scores(X)`` returns as (n_samples, n_outputs)."""

    classes_: NDArray[Any]
    _scores: Any  # the estimator's own method

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = True
        return tags

    def decision_function(self, X: Any) -> Array:
        """Return the score of each class, or of the second class if there are two.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            The scores; for two classes, above zero is the second.
        """
        return one_or_all(self._scores(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most likely class of each sample.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            Members of ``classes_``.
        """
        return self._classes_by(self.decision_function(X))

    def _classes_by(self, decision: Array) -> NDArray[Any]:
        chosen = (decision > 0.0).astype(np.intp) if decision.ndim == 1 else decision.argmax(axis=1)
        return self.classes_[chosen]


def _gives_probabilities(estimator: Any) -> bool:
    given = getattr(estimator, "_loss", getattr(estimator, "loss", "auto"))
    if given != "auto" and not loss_facts(given).has_probabilities:
        loss = given if isinstance(given, str) else given.name
        msg = f"probabilities are not defined for loss={loss!r}; use loss='logistic' or 'multinomial'"
        raise AttributeError(msg)
    return True


class ClassProbabilities(ClassScores):
    """The same with probabilities, where the loss defines them."""

    _loss: Loss

    @available_if(_gives_probabilities)
    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities in the order of ``classes_``.
        """
        decision = self.decision_function(X)
        return self._loss.probabilities(decision)

    @available_if(_gives_probabilities)
    def predict_log_proba(self, X: Any) -> Array:
        """Return the logarithm of the probability of each class.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Logarithms in the order of ``classes_``.
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))
