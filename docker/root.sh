#!/usr/bin/env bash
# Lays out the files of the image: the program, the libraries that it needs, and what they look for.
#
#     docker/root.sh PROGRAM FOLDER     PROGRAM: a static build of squall; FOLDER: a new folder
#
# FOLDER/root is the image's root, FOLDER/user what is its user's in it.
#
# There is no shell in the image, nor anything else that the program doesn't use.
set -euo pipefail
if [[ $# -ne 2 || -e $2 ]]; then
    sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//p}' "$0" >&2
    exit 2
fi
program=$1
root=$2/root
user=$2/user
cd "$(dirname "$0")/.."

install -D -m 0755 --strip "$program" "$root/usr/bin/squall"
# Toxiproxy's names: of its entry point, and of the client that people run in a container of it.
for name in toxiproxy toxiproxy-cli toxiproxy-server; do ln -s usr/bin/squall "$root/$name"; done
mkdir -p "$root/usr/share/squall" "$root/usr/share/doc/squall"
cp -r Profiles "$root/usr/share/squall/profiles"
cp LICENSE "$root/usr/share/doc/squall/"
scripts/notices.sh "$(dirname "$program")" | gzip -9n >"$root/usr/share/doc/squall/libraries.txt.gz"

# The dynamic linker has its path in the program, and finds libraries where it found them here. The C library brings its
# lookup of names with it.
needed=$(ldd "$program")
if grep -F 'not found' <<<"$needed" >&2; then exit 1; fi
grep -o '/[^ ]*' <<<"$needed" | while read -r library; do install -D -m 0755 "$library" "$root$library"; done

mkdir -p "$root/etc/ssl/certs"
cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
echo 'hosts: files dns' >"$root/etc/nsswitch.conf"
printf '%s\n' root:x:0:0:root:/:/sbin/nologin squall:x:10001:10001:squall:/data:/sbin/nologin >"$root/etc/passwd"
printf '%s\n' root:x:0: squall:x:10001: >"$root/etc/group"

# Whatever the umask is; the image's user is another one.
find "$root" \( -type f -o -type d \) -exec chmod u+rwX,go=rX {} +
# Where the command writes: its user's folder, and temporary files.
install -d -m 0755 "$user/data"
install -d -m 1777 "$root/tmp"
du -sk --apparent-size "$root" | awk '{ printf "== the image has %.1f MB\n", $1 * 1024 / 1e6 }'
