"""Bounds as functions of data and model: what is guaranteed, and what happened."""

from rankwright.theory.budget import budget_bound, budget_theorem
from rankwright.theory.certificate import LossCertificate, certificate
from rankwright.theory.generalization import Generalization, chapelle_wu_rate, generalization
from rankwright.theory.gradients import radius, score_gradient_norms, slam_proposition4
from rankwright.theory.guarantee import Guarantee
from rankwright.theory.links import link_constant, link_exponent, link_radius, weight_norm
from rankwright.theory.margins import MarginReport
from rankwright.theory.online_to_batch import online_to_batch
from rankwright.theory.perceptron import (
    gradient_descent_bound,
    multiclass_bound,
    prank_bound,
    prank_theorem2,
    slam_corollary6,
    slam_corollary7,
    slam_misordered,
    slam_printed,
    slam_separable,
    slam_theorem5,
    widrow_hoff_bound,
)
from rankwright.theory.predtron import (
    predtron_any_step,
    predtron_bound,
    predtron_corollary,
    predtron_loss_driven,
    predtron_predicted,
    predtron_theorem1,
)
from rankwright.theory.predtron_margins import (
    PredtronMargin,
    predtron_margin,
    predtron_margins,
)
from rankwright.theory.predtron_warm import predtron_warm_bound
from rankwright.theory.structured import SVMMAP, LargeMarginNDCG
from rankwright.theory.table import LossFacts, LossTable, loss_table
from rankwright.theory.warm import WarmStart, warm_perceptron_bound
from rankwright.theory.xendcg import (
    Consistency,
    lambdamart_claim2,
    xendcg_claim1,
    xendcg_claim3,
    xendcg_claim4,
    xendcg_proposition1,
    xendcg_theorem1,
    xendcg_theorem2,
    xendcg_translation_free,
)

__all__ = [
    "SVMMAP",
    "Consistency",
    "Generalization",
    "Guarantee",
    "LargeMarginNDCG",
    "LossCertificate",
    "LossFacts",
    "LossTable",
    "MarginReport",
    "PredtronMargin",
    "WarmStart",
    "budget_bound",
    "budget_theorem",
    "certificate",
    "chapelle_wu_rate",
    "generalization",
    "gradient_descent_bound",
    "lambdamart_claim2",
    "link_constant",
    "link_exponent",
    "link_radius",
    "loss_table",
    "multiclass_bound",
    "online_to_batch",
    "prank_bound",
    "prank_theorem2",
    "predtron_any_step",
    "predtron_bound",
    "predtron_corollary",
    "predtron_loss_driven",
    "predtron_margin",
    "predtron_margins",
    "predtron_predicted",
    "predtron_theorem1",
    "predtron_warm_bound",
    "radius",
    "score_gradient_norms",
    "slam_corollary6",
    "slam_corollary7",
    "slam_misordered",
    "slam_printed",
    "slam_proposition4",
    "slam_separable",
    "slam_theorem5",
    "warm_perceptron_bound",
    "weight_norm",
    "widrow_hoff_bound",
    "xendcg_claim1",
    "xendcg_claim3",
    "xendcg_claim4",
    "xendcg_proposition1",
    "xendcg_theorem1",
    "xendcg_theorem2",
    "xendcg_translation_free",
]
