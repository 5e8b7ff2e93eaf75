#!/usr/bin/env bash
# Makes a git repository with the files of this checkout, committed or not, and one version. An example package that
# depends on it by version is built as a package of somebody else. SwiftPM calls a package as its folder: squall.
#
#     scripts/tagged.sh FOLDER     prints nothing; the version is 1.0.N, with another N at each run
set -euo pipefail

target=$1
cd "$(dirname "$0")/.."
rm -rf "$target"
mkdir -p "$target"
git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' file; do
    # A deleted file is listed until the deletion is committed.
    if [[ -e $file || -L $file ]]; then printf '%s\0' "$file"; fi
done | xargs -0 cp -a --parents --target-directory "$target"
cd "$target"
git init --quiet
git add --all
git -c user.name=squall -c user.email=squall@localhost commit --quiet --message "The checkout"
git -c user.name=squall -c user.email=squall@localhost tag "1.0.$(date +%s)"
