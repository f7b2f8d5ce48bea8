"""A loss on given labels, and what it may offer to solvers beyond its value and gradient.

A solver asks for what it needs, by these names. A loss that offers less is minimised by those that
need less.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias, runtime_checkable

from rankwright._kernels import DominationSpec as DominationSpec
from rankwright._kernels import SoftmaxSpec as SoftmaxSpec
from rankwright.data.validation import Floats

DescentSpec: TypeAlias = SoftmaxSpec | DominationSpec


class Prepared(Protocol):
    """A loss on given labels, ready to be evaluated at many scores."""

    def values_and_grad(self, scores: Floats) -> tuple[Floats, Floats]:
        """Return the value of each query and the (sub)gradient of their sum."""
        ...


@runtime_checkable
class WithHessian(Prepared, Protocol):
    """A loss with second derivatives: Newton steps are possible.

    One whose Hessian takes long on these labels may say so (:class:`WithCost`); then it is not
    chosen unless it is asked for.
    """

    def hessian(self, X: Any, scores: Floats) -> Floats:
        """Return the Hessian by w of the sum over queries, at ``scores = X @ w``.

        X is dense, unless the loss says that it takes others (:class:`WithSparseHessian`). Products
        of features may be taken in the type of X: a Newton direction needs few digits.
        """
        ...


@runtime_checkable
class WithSparseHessian(WithHessian, Protocol):
    """A loss whose Hessian takes sparse features too: they need not be few, only those in use."""

    hessian_of_sparse: bool


@runtime_checkable
class WithCurvatures(Prepared, Protocol):
    """A loss that tells how much it bends along single scores: features can be scaled by it."""

    def curvatures(self, scores: Floats) -> Floats:
        """Return numbers h >= 0, one a document: the Hessian by scores is about diag(h).

        They may differ by a matrix of low rank in each query: the means that scores are compared
        with.
        """
        ...


@runtime_checkable
class WithConjugate(Prepared, Protocol):
    r"""A loss with a convex conjugate: how far the optimum is can be certified.

    A loss that is a function of :math:`s - t`, with t its ``shift``, is conjugated as a function
    of that.
    """

    def conjugate(self, scores: Floats, grad: Floats, c: float) -> float:
        r"""Return :math:`L^*(c \nabla L(s))` or more, for :math:`0 \le c \le 1`.

        ``grad`` is :math:`\nabla L(s)`, the gradient of the sum over queries.
        """
        ...


@runtime_checkable
class WithDescent(Prepared, Protocol):
    """A loss made of log-sum-exp terms that the kernel knows: weights can move one at a time.

    The kernel moves scores less the loss's ``shift``.
    """

    def descent_spec(self, n_queries: int) -> DescentSpec:
        """Return the terms of the sum over queries divided by ``n_queries``."""
        ...


@runtime_checkable
class WithShift(Prepared, Protocol):
    """A loss that may be a function of scores less t, such as margins of documents."""

    shift: Floats | None


@runtime_checkable
class WithCost(WithHessian, Protocol):
    """A loss that tells whether its Hessian takes long on these labels."""

    @property
    def slow_hessian(self) -> bool:
        """Whether Newton steps are only for those who ask for them."""
        ...


OFFERS: dict[str, Any] = {
    "hessian": WithHessian,
    "hessian_of_sparse": WithSparseHessian,
    "curvatures": WithCurvatures,
    "conjugate": WithConjugate,
    "descent_spec": WithDescent,
}
"""What solvers may need, by name."""


def shift_of(prepared: Prepared) -> Floats | None:
    """Return t if the loss is a function of scores less t."""
    return prepared.shift if isinstance(prepared, WithShift) else None


def has_slow_hessian(prepared: Prepared) -> bool:
    """Tell whether the loss says that its Hessian takes long."""
    return isinstance(prepared, WithCost) and prepared.slow_hessian
