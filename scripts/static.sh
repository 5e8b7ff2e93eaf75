#!/usr/bin/env bash
# Builds the command for other machines: the Swift libraries and libevent are linked in, so that it needs the C and C++
# libraries alone.
#
#     scripts/static.sh FOLDER     FOLDER keeps the build; prints the path of the program
set -euo pipefail
if [[ $# -ne 1 ]]; then
    sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//p}' "$0" >&2
    exit 2
fi
mkdir -p "$1"
folder=$(realpath "$1")
cd "$(dirname "$0")/.."

# A linker that looks here first finds the archive, and no shared library beside it.
archive=$(pkg-config --variable=libdir libevent_core)/libevent_core.a
if [[ ! -e $archive ]]; then
    echo "$0: $archive is missing: install libevent-dev" >&2
    exit 1
fi
event=$folder/libevent
mkdir -p "$event"
ln -sf "$archive" "$event/libevent_core.a"
cat >"$event/libevent_core.pc" <<END
Name: libevent_core
Description: libevent, to be linked in
Version: $(pkg-config --modversion libevent_core)
Cflags: $(pkg-config --cflags libevent_core)
Libs: -L$event -levent_core
END
export PKG_CONFIG_PATH=$event
build=(swift build -c release --product squall --static-swift-stdlib --scratch-path "$folder")
"${build[@]}" >&2
echo "$("${build[@]}" --show-bin-path)/squall"
