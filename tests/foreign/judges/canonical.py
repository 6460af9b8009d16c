"""jcs: documents in, the canonical JSON of each out, as text."""

import json
import sys

import jcs

json.dump([jcs.canonicalize(document).decode() for document in json.load(sys.stdin)], sys.stdout)
