"""statsmodels: Wilson's intervals of (count, of) pairs, and the clustered error of a mean, no small-sample factor."""

import json
import sys

import numpy
from statsmodels.regression.linear_model import OLS
from statsmodels.stats.proportion import proportion_confint

question = json.load(sys.stdin)
intervals = [proportion_confint(count, size, alpha=0.05, method="wilson") for count, size in question["wilson"]]
seen = [one for passed, trials in question["tasks"] for one in [1.0] * passed + [0.0] * (trials - passed)]
groups = [task for task, (_, trials) in enumerate(question["tasks"]) for _ in range(trials)]
fit = OLS(numpy.array(seen), numpy.ones(len(seen))).fit(
    cov_type="cluster", cov_kwds={"groups": numpy.array(groups), "use_correction": False}
)
answer = {
    "wilson": [[float(low), float(high)] for low, high in intervals],
    "mean": float(fit.params[0]),
    "clustered_error": float(fit.bse[0]),
}
json.dump(answer, sys.stdout)
