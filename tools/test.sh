#!/usr/bin/env bash
# All tests, in two processes at once: one Spark keeps little more than one core busy. The second half is shown when
# both are done; it takes the Spark tests of the store along, so that both take about as long. Ends with 0 only if all pass.
set -u
cd "$(dirname "$0")/.."
said=$(mktemp)
{
  .venv/bin/python -m pytest -p no:cacheprovider -m "not spark" "$@"
  first=$?
  .venv/bin/python -m pytest -p no:cacheprovider -m spark planopt_tests/store "$@"
  exit $((first | $?))
} >"$said" 2>&1 &
other=$!
trap 'kill "$other" 2>/dev/null; rm -f "$said"' EXIT
.venv/bin/python -m pytest -m spark --ignore planopt_tests/store "$@"
one=$?
wait "$other"
two=$?
cat "$said"
exit $((one | two))
