#!/usr/bin/env bash
# Set-up, called by `make`: Python and Java, virtual environment, locked packages, Delta jars. Safe to run again.
# PYTHON=/path/to/python chooses the interpreter. Output of the tools goes to .venv/setup.log.
set -euo pipefail
cd "$(dirname "$0")/.."

log=.venv/setup.log
sudo="sudo "
if [[ $(id -u) == 0 ]]; then sudo=""; fi

step() { echo "set-up $1/4: $2"; }

stop() {
  echo "set-up: $1. Fix: $2" >&2
  exit 1
}

# quietly <what to do if it fails> <command> ...
quietly() {
  local fix=$1
  shift
  if ! "$@" >>"$log" 2>&1; then
    tail -n 20 "$log" >&2
    stop "\`$*\` failed, all output is in $log" "$fix"
  fi
}

have() { command -v "$1" >/dev/null 2>&1; }

# Each candidate is started: a pyenv shim may be there for a version that is not.
find_python() {
  local candidate
  for candidate in ${PYTHON:-python3.13 python3.12 python3.11 python3}; do
    if "$candidate" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      echo "$candidate"
      return
    fi
  done
  return 1
}

python_command() {
  if have apt-get; then echo "${sudo}apt-get install -y python3 python3-venv"
  elif have dnf; then echo "${sudo}dnf install -y python3.12"
  elif have brew; then echo "brew install python@3.12"
  else echo "install Python 3.11 or newer"; fi
}

java_command() {
  if have apt-get; then echo "${sudo}apt-get install -y openjdk-17-jre-headless"
  elif have dnf; then echo "${sudo}dnf install -y java-17-openjdk-headless"
  elif have brew; then echo "brew install openjdk@17 && export JAVA_HOME=\$(brew --prefix openjdk@17)"
  else echo "install a Java 17 or newer and set JAVA_HOME"; fi
}

# The Java that Spark would start, as Spark looks for it; empty if none.
java_version() {
  local java=java
  if [[ -n ${JAVA_HOME:-} ]]; then java=$JAVA_HOME/bin/java; fi
  { "$java" -version 2>&1 || true; } | sed -n 's/.*version "\([^"]*\)".*/\1/p'
}

java_is_ready() {
  local version
  version=$(java_version)
  version=${version#1.} # 1.8.0 is Java 8
  [[ ${version%%[!0-9]*} -ge 17 ]]
}

install_java() {
  export DEBIAN_FRONTEND=noninteractive
  apt-get update && apt-get install -y --no-install-recommends openjdk-17-jre-headless ||
    apt-get install -y --no-install-recommends default-jre-headless
}

python=$(find_python) ||
  stop "no Python 3.11 or newer with the venv module" "$(python_command), or PYTHON=/path/to/python make ..."

# What an interrupted set-up left may lack pip.
if ! .venv/bin/python -m pip --version >/dev/null 2>&1; then rm -rf .venv; fi
mkdir -p .venv
: >"$log"

if ! java_is_ready; then
  if [[ -n ${JAVA_HOME:-} ]]; then stop "JAVA_HOME=$JAVA_HOME is no Java 17 or newer" "unset it or point it to one"; fi
  if [[ -n $sudo ]] || ! have apt-get; then stop "no Java 17 or newer" "$(java_command)"; fi
  echo "set-up: installing Java"
  quietly "$(java_command)" install_java
  java_is_ready || stop "the Java installed is older than 17" "$(java_command)"
fi
step 1 "$("$python" --version), Java $(java_version)"

step 2 "virtual environment"
if [[ ! -x .venv/bin/python ]]; then quietly "PYTHON=/path/to/another/python make ..." "$python" -m venv .venv; fi

step 3 "packages (the first time a few minutes)"
offline="check the network and pip's index settings, then run the same command again"
quietly "$offline" .venv/bin/python -m pip install --require-hashes --no-deps -q -r requirements.lock
quietly "$offline" .venv/bin/python -m pip install --no-deps --no-build-isolation -q -e .

step 4 "Delta jars"
quietly "see the line above, then run the same command again" .venv/bin/python -m planopt_assets.engine.sessions.jars

touch .venv/.ready
