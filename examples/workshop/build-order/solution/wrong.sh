#!/bin/bash
# Takes whole batches of graphlib, and the one cycle that its error names.
cat > /app/order.py <<'PY'
import sys
from graphlib import CycleError, TopologicalSorter

sorter = TopologicalSorter()
for line in open(sys.argv[1]):
    line = line.partition("#")[0].strip()
    if line:
        name, colon, rest = line.partition(":")
        if not colon:
            sys.exit(2)
        sorter.add(name.strip(), *rest.split())
try:
    sorter.prepare()
except CycleError as error:
    print("cycle:", *sorted(set(error.args[1])), file=sys.stderr)
    sys.exit(1)
while sorter.is_active():
    ready = sorter.get_ready()
    print("\n".join(sorted(ready)))
    sorter.done(*ready)
PY
