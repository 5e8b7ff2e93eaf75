#!/usr/bin/env bash
# Prints the licenses and notices of the packages and of the C libraries that a build has linked in.
#
#     scripts/notices.sh FOLDER     a folder of a build, such as .build/release: the packages are in checkouts above it
set -euo pipefail
folder=$(realpath "$1")
while [[ ! -d $folder/checkouts ]]; do
    if [[ $folder == / ]]; then
        echo "$0: no folder “checkouts” above $1: name a folder of a build" >&2
        exit 1
    fi
    folder=$(dirname "$folder")
done
for package in "$folder"/checkouts/*/; do
    echo "== $(basename "$package")"
    # Most have the Apache License 2.0; its text is in one of them, and each notice is shown.
    for file in "$package"LICENSE* "$package"NOTICE*; do
        if [[ -f $file ]]; then
            if cmp -s "$file" "${first:-/dev/null}"; then
                echo "(the license is that of $(basename "$(dirname "$first")"))"
            else
                cat "$file"
                case $file in *LICENSE*) first=${first:-$file} ;; esac
            fi
        fi
    done
    echo
done
for library in libevent-dev libssl-dev; do
    echo "== $library (Debian)"
    cat "/usr/share/doc/$library/copyright"
    echo
done
