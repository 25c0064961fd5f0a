#!/usr/bin/env bash
# All tests, in two processes at once: one Spark keeps little more than one core busy.
# The second half is shown when both are done. Ends with 0 only if both do.
set -u
cd "$(dirname "$0")/.."
said=$(mktemp)
.venv/bin/python -m pytest -p no:cacheprovider -m "not spark" "$@" >"$said" 2>&1 &
other=$!
trap 'kill "$other" 2>/dev/null; rm -f "$said"' EXIT
.venv/bin/python -m pytest -m spark "$@"
one=$?
wait "$other"
two=$?
cat "$said"
exit $((one | two))
