#!/usr/bin/env bash
# Builds the command for other machines: the Swift libraries, libevent and what it needs of libcrypto are linked in, so
# that it needs the C and C++ libraries alone.
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

# A linker that looks here first finds the archives, and no shared libraries beside them.
archives=$folder/archives
mkdir -p "$archives"
declare -A packages=([crypto]=libssl-dev [event_core]=libevent-dev [z]=zlib1g-dev [zstd]=libzstd-dev)
for name in libevent_core libcrypto; do
    libs=-L$archives
    # With what the archive refers to: libcrypto.a of Debian 13 has calls of zlib and Zstandard.
    for flag in $(pkg-config --static --libs-only-l "$name"); do
        library=${flag#-l}
        # Of the C library.
        if [[ $library =~ ^(dl|m|pthread|rt)$ ]]; then continue; fi
        archive=$(pkg-config --variable=libdir "$name")/lib$library.a
        if [[ ! -e $archive ]]; then
            echo "$0: $archive is missing: install ${packages[$library]:-the package that has it}" >&2
            exit 1
        fi
        ln -sf "$archive" "$archives/"
        libs+=" $flag"
    done
    cat >"$archives/$name.pc" <<END
Name: $name
Description: $name, to be linked in
Version: $(pkg-config --modversion "$name")
Cflags: $(pkg-config --cflags "$name")
Libs: $libs
END
done
export PKG_CONFIG_PATH=$archives
build=(swift build -c release --product squall --static-swift-stdlib --scratch-path "$folder")
"${build[@]}" >&2
echo "$("${build[@]}" --show-bin-path)/squall"
