"""statsmodels and scipy: McNemar of (b, c) counts, Holm's adjustment, sign-flip permutations of paired differences."""

import json
import sys

import numpy
from scipy.stats import binomtest, permutation_test
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests

question = json.load(sys.stdin)


def both(better, worse):
    table = [[0, better], [worse, 0]]
    rough = mcnemar(table, exact=False, correction=False)
    return {
        "exact": float(mcnemar(table, exact=True).pvalue),
        "statistic": float(rough.statistic),
        "p": float(rough.pvalue),
        "binomial": float(binomtest(better, better + worse, 0.5).pvalue),
    }


def flipped(differences, draws):
    # as many as there are assignments: then scipy looks at every one
    found = permutation_test(
        (numpy.array(differences),),
        numpy.mean,
        permutation_type="samples",
        n_resamples=draws or numpy.inf,
        rng=numpy.random.default_rng(1),
    )
    return float(found.pvalue)


answer = {
    "mcnemar": [both(better, worse) for better, worse in question["mcnemar"]],
    "holm": [[float(p) for p in multipletests(ps, method="holm")[1]] for ps in question["holm"]],
    "exact_flips": [flipped(one, 0) for one in question["exact_flips"]],
    "drawn_flips": [flipped(one, 100_000) for one in question["drawn_flips"]],
}
json.dump(answer, sys.stdout)
