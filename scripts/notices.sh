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
    # Code of others below Sources may have a license of its own.
    mapfile -t inner < <(find "$package" -path '*/Sources/*' -name 'LICENSE*' | LC_ALL=C sort)
    # Most have the Apache License 2.0; its text is in one of them, and each notice is shown.
    for file in "$package"LICENSE* "$package"NOTICE* "${inner[@]}"; do
        if [[ -f $file ]]; then
            if [[ $file == */Sources/* ]]; then printf '\n-- %s\n' "${file#"$package"}"; fi
            if cmp -s "$file" "${first:-/dev/null}"; then
                echo "(the license is that of $(basename "$(dirname "$first")"))"
            else
                cat "$file"
                case $file in *LICENSE*) first=${first:-$file} ;; esac
            fi
        fi
    done
    # BoringSSL is copied without its license, the Apache License 2.0: each source names it.
    find "$package" -path '*/Sources/*BoringSSL/hash.txt' | LC_ALL=C sort | while read -r file; do
        printf '\n-- %s\n' "${file#"$package"}"
        cat "$file"
        sed '/^\/\//!Q' "${file%/*}/crypto/mem.cc"
        grep -rhoE '^// Copyright .*' "${file%/*}" | LC_ALL=C sort -u
    done
    echo
done
libraries=(libevent-dev libssl-dev)
# What scripts/static.sh has linked in besides.
if [[ -e $folder/archives/libz.a ]]; then libraries+=(zlib1g-dev); fi
if [[ -e $folder/archives/libzstd.a ]]; then libraries+=(libzstd-dev); fi
for library in "${libraries[@]}"; do
    echo "== $library (Debian)"
    cat "/usr/share/doc/$library/copyright"
    echo
done
