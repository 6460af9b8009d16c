"""jsonschema: a schema and documents in, each document's complaints out; a schema that is none raises."""

import json
import sys

from jsonschema.validators import validator_for

question = json.load(sys.stdin)
schema = question["schema"]
validator = validator_for(schema)
validator.check_schema(schema)
found = [[error.message for error in validator(schema).iter_errors(document)] for document in question["documents"]]
json.dump({"dialect": validator.__name__, "complaints": found}, sys.stdout)
