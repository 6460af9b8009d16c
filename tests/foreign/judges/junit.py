"""junitparser: the suites of a report, each with its counts, its properties and the results of its cases."""

import json
import sys

from junitparser import Error, Failure, JUnitXml, Skipped

WORDS = {Error: "error", Failure: "failure", Skipped: "skipped"}

report = JUnitXml.fromstring(json.load(sys.stdin).encode("utf-8"))
read = [
    {
        "name": suite.name,
        "counts": [suite.tests, suite.failures, suite.errors, suite.skipped],
        "properties": {one.name: one.value for one in suite.properties()},
        "cases": [
            [case.classname, case.name, [[WORDS[type(result)], result.type, result.message] for result in case.result]]
            for case in suite
        ],
    }
    for suite in report
]
report.update_statistics()  # junitparser's own count of what it read
counted = [[suite.tests, suite.failures, suite.errors, suite.skipped] for suite in report]
json.dump({"suites": read, "counted": counted}, sys.stdout)
