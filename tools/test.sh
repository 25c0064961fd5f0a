#!/usr/bin/env bash
# All tests, in portions, two at a time: that keeps two cores busy, and three at a time take as long. Long portions go
# first and short ones last, and the process that is done takes the next, so that both end at about the same time. A line
# tells when a portion starts; its output is shown when it is done. Ends with 0 only if all pass.
cd "$(dirname "$0")/.."
# Images often forbid Python to keep what it compiled. Five processes and hundreds of children would each do it again.
unset PYTHONDONTWRITEBYTECODE
ready=$(mktemp -d)
trap 'rm -rf "$ready"' EXIT

# What portions with Java wait for, while a fast one runs. Needed once; a second run has both.
prepare() {
  # A third of the time of every Java that lives for one query. The first time a minute; the tests run without it, too.
  .venv/bin/python -m planopt_tests.class_archive
  # For the browser test. Elsewhere it is skipped with a reason: a test run does not ask for a password.
  if [[ $(id -u) == 0 ]] && ! command -v chromium && command -v apt-get; then
    apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends chromium
  fi
}
{ prepare; touch "$ready/java"; } >/dev/null 2>&1 &

portions=(
  "-m e2e planopt_tests/e2e"
  "-m fast planopt_tests/cli planopt_tests/defs planopt_tests/loop"
  "-m spark --ignore planopt_tests/engine"
  "-m spark planopt_tests/engine"
  "-m e2e --ignore planopt_tests/e2e"
  "-m fast planopt_tests/store"
  "-m fast --ignore planopt_tests/cli --ignore planopt_tests/defs --ignore planopt_tests/loop --ignore planopt_tests/store"
)
export ready
printf '%s\0' "${portions[@]}" | xargs -0 -P 2 -I {} bash -c '
  until [[ $1 == *"-m fast"* || -e $ready/java ]]; do sleep 1; done
  printf "%(%H:%M:%S)T started: pytest %s\n" -1 "$1"
  said=$(.venv/bin/python -m pytest -p no:cacheprovider $1 2>&1)
  code=$?
  printf "== pytest %s\n%s\n%(%H:%M:%S)T ended after %d s: pytest %s\n" "$1" "$said" -1 "$SECONDS" "$1"
  exit $code
' portion {}
