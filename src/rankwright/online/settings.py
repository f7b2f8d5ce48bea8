"""What a parameter that is left open means, and the papers' own settings.

``fit`` does what is known to work; ``partial_fit`` is the paper's algorithm. A parameter whose
default is None may mean one thing for a learner that begins with ``fit`` and another for one that
begins with ``partial_fit``; what it meant is a fitted attribute, its name with an underscore.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

from rankwright.estimator import Estimator, Model
from rankwright.exceptions import DataError


class LearnerSettings(Model, Estimator):
    """Mixin of learners with parameters that may be left open."""

    LEFT_OPEN: ClassVar[dict[str, tuple[Any, Any]]] = {}
    """Parameters that may be None: what they are then in ``fit``, and in the paper."""
    PAPER: ClassVar[dict[str, Any]] = {}
    """Other parameters that the paper's algorithm has."""

    @classmethod
    def paper(cls, **params: Any) -> Self:
        """Return a learner that does in ``fit`` what the paper describes.

        That is one pass over the data as they are, in their order, and the last weights; and what
        else a class says of its paper's algorithm.

        Parameters
        ----------
        **params
            Parameters of the class; they come before those of the paper.

        Examples
        --------
        >>> from rankwright import PRank
        >>> X, y = [[0.0], [1.0], [2.0]], [1, 2, 3]
        >>> learner = PRank.paper().fit(X, y)
        >>> learner.n_rounds_, learner.variant_
        (3, 'last')
        """
        return cls(**cls.paper_params() | params)

    @classmethod
    def paper_params(cls) -> dict[str, Any]:
        """Return the parameters of :meth:`paper`."""
        told = {name: paper for name, (_, paper) in cls._of_bases("LEFT_OPEN").items()}
        told |= cls._of_bases("PAPER")
        known = cls._get_param_names()
        return {name: value for name, value in told.items() if name in known}

    @classmethod
    def _of_bases(cls, name: str) -> dict[str, Any]:
        """Return what the classes say, each over its bases."""
        found: dict[str, Any] = {}
        for kind in reversed(cls.__mro__):
            found |= vars(kind).get(name, {})
        return found

    def settle(self, whole: bool) -> None:
        """Decide what was left open, before the first round.

        Parameters
        ----------
        whole : bool
            Whether the learner begins with all there will be, as ``fit`` does.
        """
        for name, (fit, paper) in self._of_bases("LEFT_OPEN").items():
            given = getattr(self, name)
            setattr(self, f"{name}_", given if given is not None else (fit if whole else paper))

    def begin_as_fit(self) -> None:
        """Let the pieces that come be the whole of a ``fit``: what is open settles as there."""
        self.settle(whole=True)
        self._is_settled = True

    def check_state(self) -> None:
        """Raise unless what was settled, read from a file, can be."""
        settled = {}
        for name, (_, paper) in self._of_bases("LEFT_OPEN").items():
            # Files from before a parameter could be left open are of the paper's algorithm, unless
            # they say otherwise.
            given = getattr(self, name)
            if f"{name}_" not in vars(self):
                setattr(self, f"{name}_", paper if given is None else given)
            settled[name] = getattr(self, f"{name}_")
            if settled[name] is None:
                raise DataError(f"{name}_ must be told.")
        type(self)(**self.get_params(deep=False) | settled).check_params()
        super().check_state()
