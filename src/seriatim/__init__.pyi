# Written by `make stubs`.
from collections.abc import Sequence
from typing import Any, Literal

from seriatim import catalogue as catalogue
from seriatim import data as data
from seriatim import errors as errors
from seriatim import evaluate as evaluate
from seriatim import portfolio as portfolio
from seriatim.catalogue import algorithms as algorithms
from seriatim.decomposition.base import Decomposition, SubspaceModel
from seriatim.estimator.classifier import Classifier
from seriatim.estimator.model import Model
from seriatim.estimator.regressor import Regressor
from seriatim.estimator.unlabelled import NoveltyDetector
from seriatim.experts.base import Experts
from seriatim.features import Features as Features
from seriatim.kernel.base import BudgetClassifier, KernelClassifier, OneKernel, SupportClassifier
from seriatim.modelfile import load as load
from seriatim.portfolio.base import Strategy
from seriatim.recommend.base import Recommender
from seriatim.sparse.groups import Grouped
from seriatim.sparse.selector import Selector
from seriatim.sparse.tasks import MultiTask
from seriatim.topics.base import TopicModel
from seriatim.transfer.base import Transfer

__version__: str

class DictionaryLearning(Decomposition):
    n_atoms: int
    lam: float | None
    batch: int
    coding: Literal["cd", "lars"]
    tolerance: float
    iterations: int
    seed: int
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        n_atoms: int,
        *,
        lam: float | None = ...,
        batch: int = ...,
        coding: Literal["cd", "lars"] = ...,
        tolerance: float = ...,
        iterations: int = ...,
        seed: int = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...

class IncrementalPCA(SubspaceModel):
    n_components: int
    block: int | None
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        n_components: int,
        *,
        block: int | None = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...
    @property
    def explained_variance_(self) -> Any: ...
    @property
    def explained_variance_ratio_(self) -> Any: ...
    @property
    def mean_(self) -> Any: ...
    @property
    def n_samples_seen_(self) -> Any: ...
    @property
    def noise_variance_(self) -> Any: ...
    @property
    def var_(self) -> Any: ...

class OnlinePCA(Decomposition):
    n_components: int
    eta: float
    seed: int
    n_features: int | None
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        n_components: int,
        *,
        eta: float = ...,
        seed: int = ...,
        n_features: int | None = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...
    def bound(self, *args: Any, **options: Any) -> Any: ...
    @property
    def density_(self) -> Any: ...
    @property
    def drawn_components_(self) -> Any: ...
    @property
    def expected_loss_(self) -> Any: ...
    @property
    def loss_(self) -> Any: ...

class OnlineSVD(SubspaceModel):
    rank: int
    threshold: float
    forgetting: float
    block: int | None
    missing: bool
    keep_left: bool
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        rank: int,
        *,
        threshold: float = ...,
        forgetting: float = ...,
        block: int | None = ...,
        missing: bool = ...,
        keep_left: bool = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...
    def add_columns(self, *args: Any, **options: Any) -> Any: ...
    @property
    def left_(self) -> Any: ...
    def reconstruct(self, *args: Any, **options: Any) -> Any: ...
    def remove(self, *args: Any, **options: Any) -> Any: ...
    def revise(self, *args: Any, **options: Any) -> Any: ...

class AdaHedge(Experts):
    experts: Any
    classes: Sequence[Any] | None
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        experts: Any = ...,
        *,
        classes: Sequence[Any] | None = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...

class FixedShare(Experts):
    eta: float | None
    alpha: float
    experts: Any
    classes: Sequence[Any] | None
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        experts: Any = ...,
        *,
        eta: float | None = ...,
        alpha: float = ...,
        classes: Sequence[Any] | None = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...

class Hedge(Experts):
    eta: float | None
    experts: Any
    classes: Sequence[Any] | None
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        experts: Any = ...,
        *,
        eta: float | None = ...,
        classes: Sequence[Any] | None = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...

class WeightedMajority(Experts):
    beta: float
    randomised: bool
    seed: int
    experts: Any
    classes: Sequence[Any] | None
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        experts: Any = ...,
        *,
        beta: float = ...,
        randomised: bool = ...,
        seed: int = ...,
        classes: Sequence[Any] | None = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...

class CSOGD(Classifier):
    eta: float
    variant: Literal["I", "II"]
    objective: Literal["sum", "cost"]
    positive: float
    classes: Sequence[Any] | None
    fit_intercept: bool
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        *,
        eta: float = ...,
        variant: Literal["I", "II"] = ...,
        objective: Literal["sum", "cost"] = ...,
        positive: float = ...,
        classes: Sequence[Any] | None = ...,
        fit_intercept: bool = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...

class CSPA(Classifier):
    rho: Any
    C: float
    variant: Literal["prediction", "max_loss"]
    step: Literal["hard", "I", "II"]
    average: bool
    classes: Sequence[Any] | None
    fit_intercept: bool
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        *,
        rho: Any = ...,
        C: float = ...,
        variant: Literal["prediction", "max_loss"] = ...,
        step: Literal["hard", "I", "II"] = ...,
        average: bool = ...,
        classes: Sequence[Any] | None = ...,
        fit_intercept: bool = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...

class OAM(Classifier):
    C: float
    buffer_size: int | None
    update: Literal["sequential", "gradient"]
    seed: int
    classes: Sequence[Any] | None
    fit_intercept: bool
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        *,
        C: float = ...,
        buffer_size: int | None = ...,
        update: Literal["sequential", "gradient"] = ...,
        seed: int = ...,
        classes: Sequence[Any] | None = ...,
        fit_intercept: bool = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...

class AveragedKernelPerceptron(KernelClassifier):
    kernel: Any
    sigma: float | Literal["median"]
    degree: int
    c: float
    classes: Sequence[Any] | None
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        kernel: Any = ...,
        *,
        sigma: float | Literal["median"] = ...,
        degree: int = ...,
        c: float = ...,
        classes: Sequence[Any] | None = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...

class BOGD(BudgetClassifier):
    eta: float
    lam: float
    gamma: float
    sampling: Literal["uniform", "weighted"]
    seed: int
    budget: int
    kernel: Any
    sigma: float | Literal["median"]
    degree: int
    c: float
    classes: Sequence[Any] | None
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        kernel: Any = ...,
        budget: int = ...,
        *,
        eta: float = ...,
        lam: float = ...,
        gamma: float = ...,
        sampling: Literal["uniform", "weighted"] = ...,
        seed: int = ...,
        sigma: float | Literal["median"] = ...,
        degree: int = ...,
        c: float = ...,
        classes: Sequence[Any] | None = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...

class BudgetPA(BudgetClassifier):
    C: float
    budget: int
    kernel: Any
    sigma: float | Literal["median"]
    degree: int
    c: float
    classes: Sequence[Any] | None
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        kernel: Any = ...,
        budget: int = ...,
        *,
        C: float = ...,
        sigma: float | Literal["median"] = ...,
        degree: int = ...,
        c: float = ...,
        classes: Sequence[Any] | None = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...

class CSDUOL(KernelClassifier):
    C: float
    rho: float
    cost: float
    variant: Literal["I", "II"]
    kernel: Any
    sigma: float | Literal["median"]
    degree: int
    c: float
    classes: Sequence[Any] | None
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        kernel: Any = ...,
        *,
        C: float = ...,
        rho: float = ...,
        cost: float = ...,
        variant: Literal["I", "II"] = ...,
        sigma: float | Literal["median"] = ...,
        degree: int = ...,
        c: float = ...,
        classes: Sequence[Any] | None = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...

class DUOL(KernelClassifier):
    C: float
    rho: float
    kernel: Any
    sigma: float | Literal["median"]
    degree: int
    c: float
    classes: Sequence[Any] | None
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        kernel: Any = ...,
        *,
        C: float = ...,
        rho: float = ...,
        sigma: float | Literal["median"] = ...,
        degree: int = ...,
        c: float = ...,
        classes: Sequence[Any] | None = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...

class FOGD(Classifier):
    sigma: float
    n_components: int
    eta: float
    seed: int
    classes: Sequence[Any] | None
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        *,
        sigma: float = ...,
        n_components: int = ...,
        eta: float = ...,
        seed: int = ...,
        classes: Sequence[Any] | None = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...

class Forgetron(BudgetClassifier):
    variant: Literal["self_tuned", "basic"]
    budget: int
    kernel: Any
    sigma: float | Literal["median"]
    degree: int
    c: float
    classes: Sequence[Any] | None
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        kernel: Any = ...,
        budget: int = ...,
        *,
        variant: Literal["self_tuned", "basic"] = ...,
        sigma: float | Literal["median"] = ...,
        degree: int = ...,
        c: float = ...,
        classes: Sequence[Any] | None = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...

class KernelOGD(KernelClassifier):
    loss: Literal["hinge", "squared_hinge", "logistic", "squared", "absolute", "epsilon_insensitive"]
    eta: float
    lam: float
    schedule: Literal["constant", "sqrt", "inverse"]
    epsilon: float
    kernel: Any
    sigma: float | Literal["median"]
    degree: int
    c: float
    classes: Sequence[Any] | None
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        kernel: Any = ...,
        *,
        loss: Literal["hinge", "squared_hinge", "logistic", "squared", "absolute", "epsilon_insensitive"] = ...,
        eta: float = ...,
        lam: float = ...,
        schedule: Literal["constant", "sqrt", "inverse"] = ...,
        epsilon: float = ...,
        sigma: float | Literal["median"] = ...,
        degree: int = ...,
        c: float = ...,
        classes: Sequence[Any] | None = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...

class KernelPA(KernelClassifier):
    C: float
    variant: Literal["hard", "I", "II"]
    kernel: Any
    sigma: float | Literal["median"]
    degree: int
    c: float
    classes: Sequence[Any] | None
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        kernel: Any = ...,
        *,
        C: float = ...,
        variant: Literal["hard", "I", "II"] = ...,
        sigma: float | Literal["median"] = ...,
        degree: int = ...,
        c: float = ...,
        classes: Sequence[Any] | None = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...

class KernelPerceptron(KernelClassifier):
    kernel: Any
    sigma: float | Literal["median"]
    degree: int
    c: float
    classes: Sequence[Any] | None
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        kernel: Any = ...,
        *,
        sigma: float | Literal["median"] = ...,
        degree: int = ...,
        c: float = ...,
        classes: Sequence[Any] | None = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...

class LASVM(KernelClassifier):
    C: float
    tau: float
    beyond: float
    selection: Literal["random", "gradient", "margin"]
    candidates: int
    kernel: Any
    sigma: float | Literal["median"]
    degree: int
    c: float
    classes: Sequence[Any] | None
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        kernel: Any = ...,
        *,
        C: float = ...,
        tau: float = ...,
        beyond: float = ...,
        selection: Literal["random", "gradient", "margin"] = ...,
        candidates: int = ...,
        sigma: float | Literal["median"] = ...,
        degree: int = ...,
        c: float = ...,
        classes: Sequence[Any] | None = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...
    def finish(self, *args: Any, **options: Any) -> Any: ...

class NOGD(BudgetClassifier):
    budget: int
    rank: int | None
    eta: float
    kernel: Any
    sigma: float | Literal["median"]
    degree: int
    c: float
    classes: Sequence[Any] | None
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        kernel: Any = ...,
        budget: int = ...,
        *,
        rank: int | None = ...,
        eta: float = ...,
        sigma: float | Literal["median"] = ...,
        degree: int = ...,
        c: float = ...,
        classes: Sequence[Any] | None = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...

class NORMA(KernelClassifier):
    eta: float
    lam: float
    rho: float
    nu: float | None
    truncate: int | None
    schedule: Literal["constant", "sqrt", "inverse"]
    kernel: Any
    sigma: float | Literal["median"]
    degree: int
    c: float
    classes: Sequence[Any] | None
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        kernel: Any = ...,
        *,
        eta: float = ...,
        lam: float = ...,
        rho: float = ...,
        nu: float | None = ...,
        truncate: int | None = ...,
        schedule: Literal["constant", "sqrt", "inverse"] = ...,
        sigma: float | Literal["median"] = ...,
        degree: int = ...,
        c: float = ...,
        classes: Sequence[Any] | None = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...
    @property
    def rho_(self) -> Any: ...

class NORMANovelty(OneKernel, NoveltyDetector):
    eta: float
    lam: float
    rho: float
    nu: float
    truncate: int | None
    schedule: Literal["constant", "sqrt", "inverse"]
    kernel: Any
    sigma: float | Literal["median"]
    degree: int
    c: float
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        kernel: Any = ...,
        *,
        eta: float = ...,
        lam: float = ...,
        rho: float = ...,
        nu: float = ...,
        truncate: int | None = ...,
        schedule: Literal["constant", "sqrt", "inverse"] = ...,
        sigma: float | Literal["median"] = ...,
        degree: int = ...,
        c: float = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...

class NORMARegressor(OneKernel, Regressor):
    eta: float
    lam: float
    epsilon: float
    nu: float | None
    truncate: int | None
    schedule: Literal["constant", "sqrt", "inverse"]
    kernel: Any
    sigma: float | Literal["median"]
    degree: int
    c: float
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        kernel: Any = ...,
        *,
        eta: float = ...,
        lam: float = ...,
        epsilon: float = ...,
        nu: float | None = ...,
        truncate: int | None = ...,
        schedule: Literal["constant", "sqrt", "inverse"] = ...,
        sigma: float | Literal["median"] = ...,
        degree: int = ...,
        c: float = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...
    @property
    def epsilon_(self) -> Any: ...

class OM2(SupportClassifier):
    kernels: Any
    classes: Sequence[Any] | None
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        kernels: Any = ...,
        *,
        classes: Sequence[Any] | None = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...
    @property
    def kernel_weights_(self) -> Any: ...

class OMKC(SupportClassifier):
    update: Literal["deterministic", "stochastic"]
    combination: Literal["deterministic", "stochastic"]
    beta: float
    delta: float
    seed: int
    kernels: Any
    classes: Sequence[Any] | None
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        kernels: Any = ...,
        *,
        update: Literal["deterministic", "stochastic"] = ...,
        combination: Literal["deterministic", "stochastic"] = ...,
        beta: float = ...,
        delta: float = ...,
        seed: int = ...,
        classes: Sequence[Any] | None = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...
    @property
    def kernel_weights_(self) -> Any: ...

class Projectron(KernelClassifier):
    eta: float
    budget: int | None
    kernel: Any
    sigma: float | Literal["median"]
    degree: int
    c: float
    classes: Sequence[Any] | None
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        kernel: Any = ...,
        *,
        eta: float = ...,
        budget: int | None = ...,
        sigma: float | Literal["median"] = ...,
        degree: int = ...,
        c: float = ...,
        classes: Sequence[Any] | None = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...
    @property
    def inverse_(self) -> Any: ...

class ProjectronPP(KernelClassifier):
    eta: float
    budget: int | None
    kernel: Any
    sigma: float | Literal["median"]
    degree: int
    c: float
    classes: Sequence[Any] | None
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        kernel: Any = ...,
        *,
        eta: float = ...,
        budget: int | None = ...,
        sigma: float | Literal["median"] = ...,
        degree: int = ...,
        c: float = ...,
        classes: Sequence[Any] | None = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...
    @property
    def inverse_(self) -> Any: ...

class RBP(BudgetClassifier):
    seed: int
    budget: int
    kernel: Any
    sigma: float | Literal["median"]
    degree: int
    c: float
    classes: Sequence[Any] | None
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        kernel: Any = ...,
        budget: int = ...,
        *,
        seed: int = ...,
        sigma: float | Literal["median"] = ...,
        degree: int = ...,
        c: float = ...,
        classes: Sequence[Any] | None = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...

class VotedKernelPerceptron(KernelClassifier):
    kernel: Any
    sigma: float | Literal["median"]
    degree: int
    c: float
    classes: Sequence[Any] | None
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        kernel: Any = ...,
        *,
        sigma: float | Literal["median"] = ...,
        degree: int = ...,
        c: float = ...,
        classes: Sequence[Any] | None = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...

class AggressiveROMMA(Classifier):
    average: bool
    classes: Sequence[Any] | None
    fit_intercept: bool
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        *,
        average: bool = ...,
        classes: Sequence[Any] | None = ...,
        fit_intercept: bool = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...

class ALMA(Classifier):
    alpha: float
    p: float
    B: float | None
    C: float | None
    normalize: bool
    average: bool
    classes: Sequence[Any] | None
    fit_intercept: bool
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        *,
        alpha: float = ...,
        p: float = ...,
        B: float | None = ...,
        C: float | None = ...,
        normalize: bool = ...,
        average: bool = ...,
        classes: Sequence[Any] | None = ...,
        fit_intercept: bool = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...

class AROW(Classifier):
    r: float
    covariance: Literal["diagonal", "full"]
    average: bool
    classes: Sequence[Any] | None
    fit_intercept: bool
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        *,
        r: float = ...,
        covariance: Literal["diagonal", "full"] = ...,
        average: bool = ...,
        classes: Sequence[Any] | None = ...,
        fit_intercept: bool = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...

class AROWRegressor(Regressor):
    r: float
    covariance: Literal["diagonal", "full"]
    average: bool
    fit_intercept: bool
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        *,
        r: float = ...,
        covariance: Literal["diagonal", "full"] = ...,
        average: bool = ...,
        fit_intercept: bool = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...

class AveragedPerceptron(Classifier):
    eta: float
    classes: Sequence[Any] | None
    fit_intercept: bool
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        *,
        eta: float = ...,
        classes: Sequence[Any] | None = ...,
        fit_intercept: bool = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...

class CW(Classifier):
    eta: float
    a: float
    variant: Literal["stdev", "variance"]
    covariance: Literal["diagonal", "full"]
    average: bool
    classes: Sequence[Any] | None
    fit_intercept: bool
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        *,
        eta: float = ...,
        a: float = ...,
        variant: Literal["stdev", "variance"] = ...,
        covariance: Literal["diagonal", "full"] = ...,
        average: bool = ...,
        classes: Sequence[Any] | None = ...,
        fit_intercept: bool = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...

class EG(Classifier):
    loss: Literal["hinge", "squared_hinge", "logistic", "squared", "absolute", "epsilon_insensitive"]
    eta: float
    U: float
    n_features: int | None
    average: bool
    epsilon: float
    classes: Sequence[Any] | None
    fit_intercept: bool
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        *,
        loss: Literal["hinge", "squared_hinge", "logistic", "squared", "absolute", "epsilon_insensitive"] = ...,
        eta: float = ...,
        U: float = ...,
        n_features: int | None = ...,
        average: bool = ...,
        epsilon: float = ...,
        classes: Sequence[Any] | None = ...,
        fit_intercept: bool = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...

class IELLIP(Classifier):
    b: float
    c: float
    covariance: Literal["diagonal", "full"]
    average: bool
    classes: Sequence[Any] | None
    fit_intercept: bool
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        *,
        b: float = ...,
        c: float = ...,
        covariance: Literal["diagonal", "full"] = ...,
        average: bool = ...,
        classes: Sequence[Any] | None = ...,
        fit_intercept: bool = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...

class MIRA(Classifier):
    average: bool
    classes: Sequence[Any] | None
    fit_intercept: bool
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        *,
        average: bool = ...,
        classes: Sequence[Any] | None = ...,
        fit_intercept: bool = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...

class MirrorDescent(Classifier):
    mirror: Literal["euclidean", "entropy", "pnorm"]
    loss: Literal["hinge", "squared_hinge", "logistic", "squared", "absolute", "epsilon_insensitive", "perceptron"]
    eta: float
    schedule: Literal["constant", "sqrt", "inverse"]
    p: float
    variant: Literal["ftrl", "mirror"]
    n_features: int | None
    average: bool
    epsilon: float
    classes: Sequence[Any] | None
    fit_intercept: bool
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        *,
        mirror: Literal["euclidean", "entropy", "pnorm"] = ...,
        loss: Literal[
            "hinge", "squared_hinge", "logistic", "squared", "absolute", "epsilon_insensitive", "perceptron"
        ] = ...,
        eta: float = ...,
        schedule: Literal["constant", "sqrt", "inverse"] = ...,
        p: float = ...,
        variant: Literal["ftrl", "mirror"] = ...,
        n_features: int | None = ...,
        average: bool = ...,
        epsilon: float = ...,
        classes: Sequence[Any] | None = ...,
        fit_intercept: bool = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...

class NAG(Classifier):
    loss: Literal["logistic", "hinge", "squared"]
    eta: float
    classes: Sequence[Any] | None
    fit_intercept: bool
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        *,
        loss: Literal["logistic", "hinge", "squared"] = ...,
        eta: float = ...,
        classes: Sequence[Any] | None = ...,
        fit_intercept: bool = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...

class NAGRegressor(Regressor):
    loss: Literal["squared", "absolute", "epsilon_insensitive"]
    eta: float
    epsilon: float
    fit_intercept: bool
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        *,
        loss: Literal["squared", "absolute", "epsilon_insensitive"] = ...,
        eta: float = ...,
        epsilon: float = ...,
        fit_intercept: bool = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...

class NAROW(Classifier):
    b: float
    covariance: Literal["diagonal", "full"]
    average: bool
    classes: Sequence[Any] | None
    fit_intercept: bool
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        *,
        b: float = ...,
        covariance: Literal["diagonal", "full"] = ...,
        average: bool = ...,
        classes: Sequence[Any] | None = ...,
        fit_intercept: bool = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...

class NHERD(Classifier):
    C: float
    covariance: Literal["diagonal", "full"]
    average: bool
    classes: Sequence[Any] | None
    fit_intercept: bool
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        *,
        C: float = ...,
        covariance: Literal["diagonal", "full"] = ...,
        average: bool = ...,
        classes: Sequence[Any] | None = ...,
        fit_intercept: bool = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...

class OGD(Classifier):
    loss: Literal["hinge", "squared_hinge", "logistic", "squared", "absolute", "epsilon_insensitive"]
    eta: float
    schedule: Literal["constant", "sqrt", "inverse", "adagrad"]
    radius: float | None
    average: bool
    epsilon: float
    classes: Sequence[Any] | None
    fit_intercept: bool
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        *,
        loss: Literal["hinge", "squared_hinge", "logistic", "squared", "absolute", "epsilon_insensitive"] = ...,
        eta: float = ...,
        schedule: Literal["constant", "sqrt", "inverse", "adagrad"] = ...,
        radius: float | None = ...,
        average: bool = ...,
        epsilon: float = ...,
        classes: Sequence[Any] | None = ...,
        fit_intercept: bool = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...

class OGDRegressor(Regressor):
    loss: Literal["squared", "absolute", "epsilon_insensitive"]
    eta: float
    schedule: Literal["constant", "sqrt", "inverse", "adagrad"]
    radius: float | None
    average: bool
    epsilon: float
    fit_intercept: bool
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        *,
        loss: Literal["squared", "absolute", "epsilon_insensitive"] = ...,
        eta: float = ...,
        schedule: Literal["constant", "sqrt", "inverse", "adagrad"] = ...,
        radius: float | None = ...,
        average: bool = ...,
        epsilon: float = ...,
        fit_intercept: bool = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...

class OneClassPA(NoveltyDetector):
    C: float
    epsilon: float
    variant: Literal["hard", "I", "II"]
    B: float | None
    fit_intercept: bool
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        *,
        C: float = ...,
        epsilon: float = ...,
        variant: Literal["hard", "I", "II"] = ...,
        B: float | None = ...,
        fit_intercept: bool = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...

class PA(Classifier):
    C: float
    variant: Literal["hard", "I", "II"]
    average: bool
    classes: Sequence[Any] | None
    fit_intercept: bool
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        *,
        C: float = ...,
        variant: Literal["hard", "I", "II"] = ...,
        average: bool = ...,
        classes: Sequence[Any] | None = ...,
        fit_intercept: bool = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...

class PARegressor(Regressor):
    C: float
    epsilon: float
    variant: Literal["hard", "I", "II"]
    average: bool
    fit_intercept: bool
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        *,
        C: float = ...,
        epsilon: float = ...,
        variant: Literal["hard", "I", "II"] = ...,
        average: bool = ...,
        fit_intercept: bool = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...

class Perceptron(Classifier):
    eta: float
    update: Literal["max", "uniform", "proportional"]
    average: bool
    classes: Sequence[Any] | None
    fit_intercept: bool
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        *,
        eta: float = ...,
        update: Literal["max", "uniform", "proportional"] = ...,
        average: bool = ...,
        classes: Sequence[Any] | None = ...,
        fit_intercept: bool = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...

class ROMMA(Classifier):
    average: bool
    classes: Sequence[Any] | None
    fit_intercept: bool
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        *,
        average: bool = ...,
        classes: Sequence[Any] | None = ...,
        fit_intercept: bool = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...

class SCW(Classifier):
    C: float
    eta: float
    a: float
    variant: Literal["I", "II"]
    covariance: Literal["diagonal", "full"]
    average: bool
    classes: Sequence[Any] | None
    fit_intercept: bool
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        *,
        C: float = ...,
        eta: float = ...,
        a: float = ...,
        variant: Literal["I", "II"] = ...,
        covariance: Literal["diagonal", "full"] = ...,
        average: bool = ...,
        classes: Sequence[Any] | None = ...,
        fit_intercept: bool = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...

class SoftSVM(Classifier):
    lam: float
    average: bool
    variant: Literal["mirror", "pegasos"]
    classes: Sequence[Any] | None
    fit_intercept: bool
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        *,
        lam: float = ...,
        average: bool = ...,
        variant: Literal["mirror", "pegasos"] = ...,
        classes: Sequence[Any] | None = ...,
        fit_intercept: bool = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...

class SOP(Classifier):
    a: float
    covariance: Literal["diagonal", "full"]
    average: bool
    classes: Sequence[Any] | None
    fit_intercept: bool
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        *,
        a: float = ...,
        covariance: Literal["diagonal", "full"] = ...,
        average: bool = ...,
        classes: Sequence[Any] | None = ...,
        fit_intercept: bool = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...

class VotedPerceptron(Classifier):
    eta: float
    classes: Sequence[Any] | None
    fit_intercept: bool
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        *,
        eta: float = ...,
        classes: Sequence[Any] | None = ...,
        fit_intercept: bool = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...

class HalfSpaceTrees(NoveltyDetector):
    trees: int
    depth: int
    window: int
    level: float
    n_features: int | None
    seed: int
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        *,
        trees: int = ...,
        depth: int = ...,
        window: int = ...,
        level: float = ...,
        n_features: int | None = ...,
        seed: int = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...

class Anticor(Strategy):
    window: int
    shortest: int
    nested: bool
    start: Literal["target", "drifted"] | None
    def __init__(
        self,
        *,
        window: int = ...,
        shortest: int = ...,
        nested: bool = ...,
        start: Literal["target", "drifted"] | None = ...,
    ) -> None: ...

class BCRP(Strategy):
    def __init__(
        self,
    ) -> None: ...

class BestStock(Strategy):
    def __init__(
        self,
    ) -> None: ...

class BuyAndHold(Strategy):
    def __init__(
        self,
    ) -> None: ...

class CORN(Strategy):
    window: int
    rho: float
    ensemble: Literal["uniform", "top"] | None
    levels: int
    top: float
    def __init__(
        self,
        *,
        window: int = ...,
        rho: float = ...,
        ensemble: Literal["uniform", "top"] | None = ...,
        levels: int = ...,
        top: float = ...,
    ) -> None: ...

class CWMR(Strategy):
    variant: Literal["stdev", "variance"]
    phi: float
    epsilon: float
    def __init__(
        self,
        *,
        variant: Literal["stdev", "variance"] = ...,
        phi: float = ...,
        epsilon: float = ...,
    ) -> None: ...

class ExponentiatedGradient(Strategy):
    eta: float
    def __init__(
        self,
        *,
        eta: float = ...,
    ) -> None: ...

class KernelPortfolio(Strategy):
    k: int
    l: int
    c: float
    def __init__(
        self,
        *,
        k: int = ...,
        l: int = ...,
        c: float = ...,
    ) -> None: ...

class NearestNeighbour(Strategy):
    k: int
    l: int
    def __init__(
        self,
        *,
        k: int = ...,
        l: int = ...,
    ) -> None: ...

class OLMAR(Strategy):
    variant: int
    window: int
    alpha: float
    epsilon: float
    def __init__(
        self,
        *,
        variant: int = ...,
        window: int = ...,
        alpha: float = ...,
        epsilon: float = ...,
    ) -> None: ...

class ONS(Strategy):
    eta: float
    beta: float
    delta: float
    def __init__(
        self,
        *,
        eta: float = ...,
        beta: float = ...,
        delta: float = ...,
    ) -> None: ...

class PAMR(Strategy):
    variant: Literal["hard", "I", "II"]
    epsilon: float
    C: float
    def __init__(
        self,
        *,
        variant: Literal["hard", "I", "II"] = ...,
        epsilon: float = ...,
        C: float = ...,
    ) -> None: ...

class RMR(Strategy):
    window: int
    epsilon: float
    def __init__(
        self,
        *,
        window: int = ...,
        epsilon: float = ...,
    ) -> None: ...

class UCRP(Strategy):
    def __init__(
        self,
    ) -> None: ...

class UniversalPortfolio(Strategy):
    samples: int
    seed: int
    def __init__(
        self,
        *,
        samples: int = ...,
        seed: int = ...,
    ) -> None: ...

class PMF(Recommender):
    n_factors: int
    method: Literal["sgd", "dual_averaging"]
    eta: float
    lam: float | None
    biases: bool
    implicit: bool
    seed: int
    low: float
    high: float
    def __init__(
        self,
        n_factors: int = ...,
        *,
        method: Literal["sgd", "dual_averaging"] = ...,
        eta: float = ...,
        lam: float | None = ...,
        biases: bool = ...,
        implicit: bool = ...,
        seed: int = ...,
        low: float = ...,
        high: float = ...,
    ) -> None: ...
    @property
    def item_biases_(self) -> Any: ...
    @property
    def user_biases_(self) -> Any: ...

class RMF(Recommender):
    n_factors: int
    method: Literal["sgd", "dual_averaging"]
    eta: float
    lam: float | None
    seed: int
    low: float
    high: float
    def __init__(
        self,
        n_factors: int = ...,
        *,
        method: Literal["sgd", "dual_averaging"] = ...,
        eta: float = ...,
        lam: float | None = ...,
        seed: int = ...,
        low: float = ...,
        high: float = ...,
    ) -> None: ...

class SVDRecommender(Recommender):
    rank: int
    damping: float
    low: float
    high: float
    def __init__(
        self,
        rank: int = ...,
        *,
        damping: float = ...,
        low: float = ...,
        high: float = ...,
    ) -> None: ...
    @property
    def item_biases_(self) -> Any: ...
    @property
    def singular_values_(self) -> Any: ...
    @property
    def user_biases_(self) -> Any: ...

class OASIS(Model):
    C: float
    def __init__(
        self,
        *,
        C: float = ...,
    ) -> None: ...
    @property
    def W_(self) -> Any: ...
    def fit(self, *args: Any, **options: Any) -> Any: ...
    def learn_one(self, *args: Any, **options: Any) -> Any: ...
    def order(self, *args: Any, **options: Any) -> Any: ...
    def partial_fit(self, *args: Any, **options: Any) -> Any: ...
    def rank(self, *args: Any, **options: Any) -> Any: ...
    def similarity(self, *args: Any, **options: Any) -> Any: ...
    @property
    def updates_(self) -> Any: ...

class OMDL(Model):
    kernels: Any
    C1: float
    C2: float
    eta: float
    rank: int | None
    seed: int
    def __init__(
        self,
        kernels: Any,
        *,
        C1: float = ...,
        C2: float = ...,
        eta: float = ...,
        rank: int | None = ...,
        seed: int = ...,
    ) -> None: ...

class AdaFOBOS(Classifier):
    loss: Literal["hinge", "squared_hinge", "logistic", "squared", "absolute", "epsilon_insensitive"]
    lam: float
    eta: float
    delta: float
    epsilon: float
    classes: Sequence[Any] | None
    fit_intercept: bool
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        *,
        loss: Literal["hinge", "squared_hinge", "logistic", "squared", "absolute", "epsilon_insensitive"] = ...,
        lam: float = ...,
        eta: float = ...,
        delta: float = ...,
        epsilon: float = ...,
        classes: Sequence[Any] | None = ...,
        fit_intercept: bool = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...

class AdaRDA(Classifier):
    loss: Literal["hinge", "squared_hinge", "logistic", "squared", "absolute", "epsilon_insensitive"]
    lam: float
    eta: float
    delta: float
    epsilon: float
    classes: Sequence[Any] | None
    fit_intercept: bool
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        *,
        loss: Literal["hinge", "squared_hinge", "logistic", "squared", "absolute", "epsilon_insensitive"] = ...,
        lam: float = ...,
        eta: float = ...,
        delta: float = ...,
        epsilon: float = ...,
        classes: Sequence[Any] | None = ...,
        fit_intercept: bool = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...

class BayesianSparse(Classifier):
    gamma: float
    link: Literal["logit", "probit"]
    sweeps: int
    memory: int | None
    classes: Sequence[Any] | None
    fit_intercept: bool
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        *,
        gamma: float = ...,
        link: Literal["logit", "probit"] = ...,
        sweeps: int = ...,
        memory: int | None = ...,
        classes: Sequence[Any] | None = ...,
        fit_intercept: bool = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...
    def another_pass(self, *args: Any, **options: Any) -> Any: ...

class FOBOS(Classifier):
    loss: Literal["hinge", "squared_hinge", "logistic", "squared", "absolute", "epsilon_insensitive"]
    penalty: Literal["l1", "l2", "l2_squared", "linf"]
    lam: float
    eta: float
    schedule: Literal["constant", "sqrt", "inverse"]
    epsilon: float
    classes: Sequence[Any] | None
    fit_intercept: bool
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        *,
        loss: Literal["hinge", "squared_hinge", "logistic", "squared", "absolute", "epsilon_insensitive"] = ...,
        penalty: Literal["l1", "l2", "l2_squared", "linf"] = ...,
        lam: float = ...,
        eta: float = ...,
        schedule: Literal["constant", "sqrt", "inverse"] = ...,
        epsilon: float = ...,
        classes: Sequence[Any] | None = ...,
        fit_intercept: bool = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...

class FTRL(Classifier):
    loss: Literal["hinge", "squared_hinge", "logistic", "squared", "absolute", "epsilon_insensitive"]
    alpha: float
    beta: float
    l1: float
    l2: float
    epsilon: float
    classes: Sequence[Any] | None
    fit_intercept: bool
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        *,
        loss: Literal["hinge", "squared_hinge", "logistic", "squared", "absolute", "epsilon_insensitive"] = ...,
        alpha: float = ...,
        beta: float = ...,
        l1: float = ...,
        l2: float = ...,
        epsilon: float = ...,
        classes: Sequence[Any] | None = ...,
        fit_intercept: bool = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...

class GroupRDA(Grouped):
    loss: Literal["hinge", "squared_hinge", "logistic", "squared", "absolute", "epsilon_insensitive"]
    lam: float
    gamma: float
    rho: float
    within: float
    epsilon: float
    groups: Any
    classes: Sequence[Any] | None
    fit_intercept: bool
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        groups: Any,
        *,
        loss: Literal["hinge", "squared_hinge", "logistic", "squared", "absolute", "epsilon_insensitive"] = ...,
        lam: float = ...,
        gamma: float = ...,
        rho: float = ...,
        within: float = ...,
        epsilon: float = ...,
        classes: Sequence[Any] | None = ...,
        fit_intercept: bool = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...

class MultiTaskRDA(MultiTask):
    variant: Literal["iMTFS", "aMTFS", "MTFTS"]
    loss: Literal["hinge", "squared_hinge", "logistic", "squared", "absolute", "epsilon_insensitive"]
    lam: float
    gamma: float
    within: float
    epsilon: float
    n_tasks: int
    classes: Sequence[Any] | None
    fit_intercept: bool
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        n_tasks: int,
        *,
        variant: Literal["iMTFS", "aMTFS", "MTFTS"] = ...,
        loss: Literal["hinge", "squared_hinge", "logistic", "squared", "absolute", "epsilon_insensitive"] = ...,
        lam: float = ...,
        gamma: float = ...,
        within: float = ...,
        epsilon: float = ...,
        classes: Sequence[Any] | None = ...,
        fit_intercept: bool = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...

class OFS(Selector, Classifier):
    k: int
    eta: float
    lam: float
    partial: bool
    epsilon: float
    seed: int
    classes: Sequence[Any] | None
    fit_intercept: bool
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        k: int,
        *,
        eta: float = ...,
        lam: float = ...,
        partial: bool = ...,
        epsilon: float = ...,
        seed: int = ...,
        classes: Sequence[Any] | None = ...,
        fit_intercept: bool = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...

class PET(Selector, Classifier):
    k: int
    eta: float
    classes: Sequence[Any] | None
    fit_intercept: bool
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        k: int,
        *,
        eta: float = ...,
        classes: Sequence[Any] | None = ...,
        fit_intercept: bool = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...

class RDA(Classifier):
    loss: Literal["hinge", "squared_hinge", "logistic", "squared", "absolute", "epsilon_insensitive"]
    lam: float
    gamma: float
    rho: float
    epsilon: float
    classes: Sequence[Any] | None
    fit_intercept: bool
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        *,
        loss: Literal["hinge", "squared_hinge", "logistic", "squared", "absolute", "epsilon_insensitive"] = ...,
        lam: float = ...,
        gamma: float = ...,
        rho: float = ...,
        epsilon: float = ...,
        classes: Sequence[Any] | None = ...,
        fit_intercept: bool = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...

class SOFS(Selector, Classifier):
    k: int
    r: float
    classes: Sequence[Any] | None
    fit_intercept: bool
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        k: int,
        *,
        r: float = ...,
        classes: Sequence[Any] | None = ...,
        fit_intercept: bool = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...

class TruncatedGradient(Classifier):
    loss: Literal["hinge", "squared_hinge", "logistic", "squared", "absolute", "epsilon_insensitive"]
    eta: float
    gravity: float
    theta: float | None
    period: int
    schedule: Literal["constant", "sqrt", "inverse"]
    rounding: bool
    epsilon: float
    classes: Sequence[Any] | None
    fit_intercept: bool
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        *,
        loss: Literal["hinge", "squared_hinge", "logistic", "squared", "absolute", "epsilon_insensitive"] = ...,
        eta: float = ...,
        gravity: float = ...,
        theta: float | None = ...,
        period: int = ...,
        schedule: Literal["constant", "sqrt", "inverse"] = ...,
        rounding: bool = ...,
        epsilon: float = ...,
        classes: Sequence[Any] | None = ...,
        fit_intercept: bool = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...

class TruncatedGradientRegressor(Regressor):
    loss: Literal["squared", "absolute", "epsilon_insensitive"]
    eta: float
    gravity: float
    theta: float | None
    period: int
    schedule: Literal["constant", "sqrt", "inverse"]
    rounding: bool
    epsilon: float
    fit_intercept: bool
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        *,
        loss: Literal["squared", "absolute", "epsilon_insensitive"] = ...,
        eta: float = ...,
        gravity: float = ...,
        theta: float | None = ...,
        period: int = ...,
        schedule: Literal["constant", "sqrt", "inverse"] = ...,
        rounding: bool = ...,
        epsilon: float = ...,
        fit_intercept: bool = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...

class HDP(TopicModel):
    max_topics: int
    doc_topics: int
    alpha: float
    gamma: float
    eta: float
    kappa: float
    tau: float
    scale: float
    batch: int
    total: float | None
    start: Literal["uniform", "best"]
    iterations: int
    tolerance: float
    initial: float | None
    n_features: int | None
    seed: int
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        max_topics: int = ...,
        *,
        doc_topics: int = ...,
        alpha: float = ...,
        gamma: float = ...,
        eta: float = ...,
        kappa: float = ...,
        tau: float = ...,
        scale: float = ...,
        batch: int = ...,
        total: float | None = ...,
        start: Literal["uniform", "best"] = ...,
        iterations: int = ...,
        tolerance: float = ...,
        initial: float | None = ...,
        n_features: int | None = ...,
        seed: int = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...
    @property
    def sticks_(self) -> Any: ...

class LDA(TopicModel):
    n_topics: int
    alpha: Any
    eta: float | None
    kappa: float
    tau0: float
    batch: int
    total: float | None
    iterations: int
    tolerance: float
    n_features: int | None
    seed: int
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        n_topics: int = ...,
        *,
        alpha: Any = ...,
        eta: float | None = ...,
        kappa: float = ...,
        tau0: float = ...,
        batch: int = ...,
        total: float | None = ...,
        iterations: int = ...,
        tolerance: float = ...,
        n_features: int | None = ...,
        seed: int = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...

class HeterogeneousOTL(Transfer):
    C: float
    gamma1: float
    gamma2: float
    source: Any
    classes: Sequence[Any] | None
    fit_intercept: bool
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        source: Any,
        *,
        C: float = ...,
        gamma1: float = ...,
        gamma2: float = ...,
        classes: Sequence[Any] | None = ...,
        fit_intercept: bool = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...

class HomogeneousOTL(Transfer):
    C: float
    eta: float
    source: Any
    classes: Sequence[Any] | None
    fit_intercept: bool
    features: Features | dict[str, Any] | None
    def __init__(
        self,
        source: Any,
        *,
        C: float = ...,
        eta: float = ...,
        classes: Sequence[Any] | None = ...,
        fit_intercept: bool = ...,
        features: Features | dict[str, Any] | None = ...,
    ) -> None: ...
    @property
    def source_weight_(self) -> Any: ...
    @property
    def target_weight_(self) -> Any: ...
