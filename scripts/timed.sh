#!/usr/bin/env bash
# Runs a command and says how long it took: seconds, and seconds of processor time with those of the programs that it started
# and waited for.
#
#     scripts/timed.sh NAME COMMAND...
#     scripts/timed.sh --table COMMAND...     runs COMMAND, and prints a table of the parts that it ran with this script
#
# A table within a table is part of the outer one. Parts that ran at the same time take longer together than all.
set -uo pipefail
if [[ $# -lt 2 ]]; then
    sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//p}' "$0" >&2
    exit 2
fi
name=$1
shift

if [[ $name == --table ]]; then
    if [[ -n ${SQUALL_TIMES:-} ]]; then exec "$@"; fi
    SQUALL_TIMES=$(mktemp)
    export SQUALL_TIMES
    trap 'rm -f "$SQUALL_TIMES"' EXIT
    "$@"
    status=$?
    awk -F '\t' '
        BEGIN { format = "%-44s %8s %12s\n"; printf "\n" format, "part", "seconds", "processor s" }
        { printf format, $1, $2, $3; processor += $3 }
        END { printf format, "all", seconds, processor }
    ' seconds=$SECONDS "$SQUALL_TIMES"
    exit "$status"
fi

TIMEFORMAT='%0R %0U %0S'
{ times=$({ time "$@" >&3 2>&4; } 2>&1); } 3>&1 4>&2
status=$?
read -r seconds user system <<<"$times"
echo "== $name: $seconds s, $((user + system)) s of processor time"
if [[ -n ${SQUALL_TIMES:-} ]]; then printf '%s\t%s\t%s\n' "$name" "$seconds" "$((user + system))" >>"$SQUALL_TIMES"; fi
exit "$status"
