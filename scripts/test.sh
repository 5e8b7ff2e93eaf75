#!/usr/bin/env bash
# Runs tests, and tells at the end once more what failed: the lines of a thousand that passed lie between.
#
# Usage: scripts/test.sh ARGUMENT...   (those of `swift test`)
set -uo pipefail

report=$(mktemp)
trap 'rm -f "$report"' EXIT
swift test "$@" 2>&1 | tee "$report"
status=${PIPESTATUS[0]}
if ((status != 0)); then
    echo "== what failed:"
    # An issue has its details in the lines below it, up to the next test's.
    awk '/^✘ .*recorded an issue/ { on = 1; print; next } /^[✔✘◇]/ { on = 0 } on || /Fatal error|^error:/' "$report" |
        head -n 200
fi
exit "$status"
