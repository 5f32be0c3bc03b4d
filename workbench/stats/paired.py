"""Two models on the same samples: their difference, its test, its interval, and what it could have shown."""

import math
from collections import Counter
from collections.abc import Collection, Hashable, Sequence

import msgspec

from workbench.stats import proportions

LEVEL = 0.05
"""A difference is shown where its p-value, adjusted for all pairs that were looked at, is below this."""
POWER = 0.8
FEW_CLUSTERS = 10


class Paired(msgspec.Struct, frozen=True):
    """How the scores of one model differ from another's, sample by sample."""

    n: int
    better: int
    worse: int
    difference: float
    """Of the means."""
    p_value: float
    """Two-sided, of this pair alone."""
    method: str
    error: float | None = None
    """The difference's standard error, where a t test decides."""
    freedom: float = 0
    """Its degrees of freedom; of clusters of unlike sizes as many as their spread is known by."""
    alike: "Alike | None" = None
    """What bounds the difference where it is the same on every sample, and no test has a spread."""
    clusters: int | None = None
    """Of how many the test is; None: the samples are taken for independent."""

    @property
    def same(self) -> int:
        """Samples on which they score alike."""
        return self.n - self.better - self.worse

    def interval(self, level: float = LEVEL) -> tuple[float, float] | None:
        """Return the difference's interval at confidence 1 - level: it holds 0 exactly where `p_value` is not below the level.

        None where nothing is known of the spread, nor how far a sample could differ.
        """
        if self.alike is not None:
            return self.alike.interval(self.difference, level)
        if self.method.startswith("McNemar"):
            return proportions.interval(self.better, self.worse, self.n, level)
        if self.error is None:
            return None
        from scipy.special import stdtrit

        half = float(stdtrit(self.freedom, 1 - level / 2)) * self.error
        return self.difference - half, self.difference + half

    def detectable(self, level: float = LEVEL) -> float | None:
        """Return the smallest difference that this test shows with a probability of `POWER` at a level;
        None where it cannot say.
        """
        if self.method.startswith("McNemar"):
            return proportions.detectable(self.better, self.worse, self.n, level, POWER)
        if self.error is None:
            return None
        from scipy.special import stdtrit

        reach = float(stdtrit(self.freedom, 1 - level / 2)) + float(stdtrit(self.freedom, POWER))
        return reach * self.error


class Alike(msgspec.Struct, frozen=True):
    """Samples on all of which two models differ by the same, which may be nothing."""

    groups: int
    """Independent ones: samples, or clusters of them."""
    largest: float
    """How many times as large as the mean of them the largest is."""
    span: float
    """The most that a sample could differ by: the length of the scale."""

    def interval(self, difference: float, level: float) -> tuple[float, float]:
        """Return between which the means differ at confidence 1 - level, with as much to either side.

        It is the highest share of groups that may differ otherwise although none of these does, each by as much as the scale
        allows.
        """
        share = min(1.0, self.largest * proportions.highest_share(0, self.groups, 1 - level / 2))
        return (1 - share) * difference - share * self.span, (1 - share) * difference + share * self.span

    def p_value(self, difference: float) -> float:
        """Return the level from which on that interval holds 0."""
        share = abs(difference) / (abs(difference) + self.span) / self.largest if difference else 0.0
        return min(1.0, 2 * (1 - share) ** self.groups) if share < 1 else 0.0


class Bounded(msgspec.Struct, frozen=True):
    """Two models on all that both were asked, between the lowest and the highest that the unknown scores allow.

    A difference is shown where a test shows it whatever the unknown scores were: that the first is better at the lowest, where
    its own unknown scores are the least of the scale and the other's the most, and that it is worse at the highest, the reverse.
    """

    finished: Paired | None
    """On the samples that are known of both; None where none is."""
    at_lowest: Paired | None = None
    at_highest: Paired | None = None
    """Both are `finished` where nothing is unknown; None where no scale says what the unknown ones could be."""

    @property
    def p_value(self) -> float | None:
        """The smaller two-sided one of being better and of being worse; None where nothing is tested."""
        if self.at_lowest is None or self.at_highest is None:
            return None if self.finished is None else self.finished.p_value
        better = self.at_lowest.p_value if self.at_lowest.difference > 0 else 1.0
        worse = self.at_highest.p_value if self.at_highest.difference < 0 else 1.0
        return min(better, worse)

    @property
    def is_ahead(self) -> bool:
        """Whether a shown difference is that the first is better."""
        decides = self.finished if self.at_lowest is None else self.at_lowest
        return decides is not None and decides.difference > 0

    def interval(self, level: float = LEVEL) -> tuple[float, float] | None:
        """From the lower end at the lowest to the upper end at the highest."""
        low = self.finished if self.at_lowest is None else self.at_lowest
        high = self.finished if self.at_highest is None else self.at_highest
        if low is None or high is None:
            return None
        below = low.interval(level)
        above = below if high is low else high.interval(level)
        return None if below is None or above is None else (below[0], above[1])

    def detectable(self, level: float = LEVEL) -> float | None:
        """Return the smallest difference of the finished samples that would be shown with a probability of `POWER`."""
        if self.at_lowest is None or self.at_highest is None or self.at_lowest is self.at_highest:
            return None if self.finished is None else self.finished.detectable(level)
        reach = [self.at_lowest.detectable(level), self.at_highest.detectable(level)]
        known = [one for one in reach if one is not None]
        return max(known) + self.at_highest.difference - self.at_lowest.difference if len(known) == 2 else None


def paired(
    one: Sequence[float],
    other: Sequence[float],
    clusters: Sequence[Hashable] | None = None,
    *,
    span: float | None = None,
) -> Paired:
    """Compare the scores of two models.

    Right and wrong are compared by McNemar's test, exact where few samples differ; other scores by the t test of their
    differences, and where these are all alike, which has no spread, by how many could differ otherwise and were not met; by
    the sign test where no scale says by how much. Where samples belong to clusters
    (questions about one text), by the t test with a standard error that lets those vary together.

    Args:
        one: A score for each sample, at least one.
        other: Scores of the same samples, in the same order.
        clusters: What each sample belongs to.
        span: The length of the scale, where one is known: it bounds a difference that is the same on every sample.
    """
    differences = [left - right for left, right in zip(one, other, strict=True)]
    n, mean = len(differences), math.fsum(differences) / len(differences)
    # as floats 0.4 - 0.3 and 0.3 - 0.2 are not equal
    better, worse = sum(value > 1e-9 for value in differences), sum(value < -1e-9 for value in differences)
    if clusters is not None and len(set(clusters)) < n:
        return with_bound(_clustered(differences, clusters, better, worse), span, Counter(clusters).values())
    is_binary = all(value in (0.0, 1.0) for values in (one, other) for value in values)
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in differences) / (n - 1)) if n > 1 else None
    return with_bound(of_counts(n, better, worse, mean, deviation, is_binary=is_binary), span)


def of_counts(n: int, better: int, worse: int, mean: float, deviation: float | None, *, is_binary: bool) -> Paired:
    """Return the same from what it needs of samples that are independent, without a scale (see `with_bound`).

    Args:
        mean: Of the differences.
        deviation: Their standard deviation; None of a single one.
        is_binary: Whether all scores are right or wrong.
    """
    if is_binary:
        exact = better + worse < proportions.FEW
        method = "McNemar's exact test" if exact else "McNemar's score test"
        return Paired(n, better, worse, mean, proportions.p_value(better, worse), method)
    if deviation is None or deviation < 1e-9:
        return Paired(n, better, worse, mean, proportions.sign_test(better, worse), "sign test")
    error = deviation / math.sqrt(n)
    return Paired(n, better, worse, mean, _t_test(mean, error, n - 1), "paired t test", error, n - 1)


def with_bound(found: Paired, span: float | None, sizes: Collection[int] | None = None) -> Paired:
    """Return a test, where its samples differ by the same or not at all with what bounds that (see `Alike`).

    Args:
        span: The length of the scale; None: none is known.
        sizes: How many samples each cluster has; None: the samples are independent.
    """
    if span is None or not (found.method.startswith("sign") or not (found.better or found.worse)):
        return found
    bound = Alike(found.n, 1.0, span) if sizes is None else Alike(len(sizes), max(sizes) * len(sizes) / found.n, span)
    method = found.method.replace("sign test", "exact bound")
    return msgspec.structs.replace(found, alike=bound, p_value=bound.p_value(found.difference), method=method)


def _clustered(differences: Sequence[float], clusters: Sequence[Hashable], better: int, worse: int) -> Paired:
    """Return the t test of a mean whose samples vary together within clusters.

    A cluster that has most of the samples pulls the mean to itself, so that the spread around it looks small: the residuals of
    each are weighed by what it leaves to the others, and the degrees of freedom are those by which the spread is known where
    the samples of a cluster vary as one. Of G clusters of one size that is the t test of their means, with G - 1.

    Source: Bell, R. M., McCaffrey, D. F. (2002), Bias reduction in standard errors for linear regression with multi-stage
    samples, Survey Methodology 28, 169-181; Imbens, G. W., Kolesár, M. (2016), Robust standard errors in small samples:
    some practical advice, Review of Economics and Statistics 98, 701-712.
    """
    n, mean = len(differences), math.fsum(differences) / len(differences)
    residuals: dict[Hashable, float] = {}
    for value, cluster in zip(differences, clusters, strict=True):
        residuals[cluster] = residuals.get(cluster, 0.0) + value - mean
    groups = len(residuals)
    method = f"t test over {groups} clusters"
    spread = math.fsum(value**2 for value in residuals.values())
    if groups < 2:
        return Paired(n, better, worse, mean, 1.0, method, clusters=groups)
    if spread < 1e-18:  # all alike: what is left is on how many clusters, and on which side
        ahead, behind = (groups, 0) if mean > 1e-9 else (0, groups) if mean < -1e-9 else (0, 0)
        p_value = proportions.sign_test(ahead, behind)
        return Paired(
            n, better, worse, mean, p_value, f"sign test over {groups} clusters", None, groups - 1, clusters=groups
        )
    shares = {cluster: size / n for cluster, size in Counter(clusters).items()}
    error = math.sqrt(math.fsum(value**2 / (1 - shares[cluster]) for cluster, value in residuals.items())) / n
    freedom = _freedom(list(shares.values()))
    return Paired(n, better, worse, mean, _t_test(mean, error, freedom), method, error, freedom, clusters=groups)


def _freedom(shares: Sequence[float]) -> float:
    """Return the degrees of freedom of the spread over clusters that have these shares of all samples.

    Were a cluster one normal value, the spread would be a quadratic form of these: twice its mean squared over its variance.
    Source: Satterthwaite, F. E. (1946), An approximate distribution of estimates of variance components, Biometrics Bulletin 2,
    110-114.
    """
    squares = math.fsum(share**2 for share in shares)
    weights = [share**2 / (1 - share) for share in shares]
    own = [squares - 2 * share for share in shares]
    none, one, two = (
        math.fsum(weight * share**power for weight, share in zip(weights, shares, strict=True)) for power in range(3)
    )
    trace = math.fsum(weight * (1 + part) for weight, part in zip(weights, own, strict=True))
    apart = (squares * none) ** 2 + 2 * two * none - 4 * squares * one * none + 2 * one**2
    alone = math.fsum(weight**2 * (1 + 2 * part) for weight, part in zip(weights, own, strict=True))
    return trace**2 / (apart + alone)


def _t_test(mean: float, error: float, freedom: float) -> float:
    """Student's two-sided test of a mean difference of 0."""
    from scipy.special import stdtr

    return 2 * float(stdtr(freedom, -abs(mean) / error))


def holm(p_values: Sequence[float]) -> list[float]:
    """Return the p-values of several tests, adjusted so that any of them is below a level by mere chance as rarely as one would.

    Source: Holm, S. (1979), A simple sequentially rejective multiple test procedure, Scandinavian Journal of
    Statistics 6, 65-70.
    """
    adjusted, least = [0.0] * len(p_values), 0.0
    for place, number in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        least = max(least, min(1.0, (len(p_values) - place) * p_values[number]))
        adjusted[number] = least
    return adjusted


def holm_of_known(p_values: Sequence[float | None]) -> list[float | None]:
    """Return the same for those of several tests that there are."""
    found = iter(holm([p_value for p_value in p_values if p_value is not None]))
    return [None if p_value is None else next(found) for p_value in p_values]


def holm_of_differing(p_values: Sequence[float | None], differ: Sequence[bool]) -> list[float | None]:
    """Return the same, adjusted for those that could have shown anything: a pair that is the same everywhere cannot.

    Source: Tarone, R. E. (1990), A modified Bonferroni method for discrete data, Biometrics 46, 515-522.

    Args:
        p_values: Of each pair; None: it has none.
        differ: Whether anything differs between the two.
    """
    pairs = list(zip(p_values, differ, strict=True))
    found = iter(holm_of_known([p_value for p_value, differs in pairs if differs]))
    return [next(found) if differs else None if p_value is None else 1.0 for p_value, differs in pairs]


def level_shown(p_value: float, adjusted: float) -> float:
    """Return the level at which an interval says the same as the adjusted decision:
    it holds 0 where that is not below `LEVEL`.
    """
    return LEVEL if adjusted <= 0 else LEVEL * p_value / adjusted
