#!/usr/bin/env bash
# Makes a Debian package of a static build.
#
#     scripts/deb.sh PROGRAM FOLDER     PROGRAM: the built command; FOLDER gets squall_VERSION_ARCHITECTURE.deb
#
# What it depends on is computed by dpkg-shlibdeps. The date of the files is SOURCE_DATE_EPOCH, the maintainer DEBFULLNAME and
# DEBEMAIL; else both are those of the last commit, and without git now and this user.
set -euo pipefail
if [[ $# -ne 2 ]]; then
    sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//p}' "$0" >&2
    exit 2
fi
program=$(realpath "$1")
mkdir -p "$2"
folder=$(realpath "$2")
cd "$(dirname "$0")/.."
upstream=$("$program" --version)
version=$upstream-1
architecture=$(dpkg --print-architecture)
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}
name=${DEBFULLNAME:-$(git log -1 --format=%an 2>/dev/null || id -un)}
maintainer="$name <${DEBEMAIL:-$(git log -1 --format=%ae 2>/dev/null || echo "$(id -un)@$HOSTNAME")}>"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
install -d -m 0755 "$root"
python3 scripts/install_files.py install "$program" /usr --destdir "$root" --zsh share/zsh/vendor-completions
# dpkg keeps a list of its own.
rm "$root/usr/share/squall/installed"
find "$root/usr/share/man" -name '*.1' -exec gzip -9n {} +
documents=$root/usr/share/doc/squall
install -d -m 0755 "$documents"
{
    echo "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/"
    echo "Upstream-Name: squall"
    echo
    echo "Files: *"
    echo "Copyright: 2026 the authors of Squall"
    echo "License: Apache-2.0"
    echo " On Debian systems the text is in /usr/share/common-licenses/Apache-2.0."
    echo " The notices of the libraries that are linked in are in libraries.txt.gz."
} >"$documents/copyright"
scripts/notices.sh "$(dirname "$program")" | gzip -9n >"$documents/libraries.txt.gz"
gzip -9nc CHANGELOG.md >"$documents/changelog.gz"
printf 'squall (%s) unstable; urgency=medium\n\n  * Version %s, see changelog.gz.\n\n -- %s  %s\n' \
    "$version" "$upstream" "$maintainer" "$(date -R -d "@$SOURCE_DATE_EPOCH")" | gzip -9n >"$documents/changelog.Debian.gz"
chmod 0644 "$documents"/*

# dpkg-shlibdeps reads the name of the package in debian/control.
mkdir "$work/debian" "$root/DEBIAN"
printf 'Source: squall\n\nPackage: squall\nArchitecture: any\n' >"$work/debian/control"
depends=$(cd "$work" && dpkg-shlibdeps --warnings=0 -O "$root/usr/bin/squall" | sed -n 's/^shlibs:Depends=//p')
chmod 0755 "$root/DEBIAN"
cat >"$root/DEBIAN/control" <<END
Package: squall
Version: $version
Architecture: $architecture
Maintainer: $maintainer
Installed-Size: $(du -sk --exclude=DEBIAN "$root" | cut -f 1)
Depends: $depends
Recommends: ca-certificates
Conflicts: toxiproxy
Section: net
Priority: optional
Description: network fault-injection proxy
 Squall stands between a client and a server, and cuts, throttles, delays and
 stalls their connections as a JSON profile says. Its control server answers
 Toxiproxy's API. A resumable HTTP client and server prove byte for byte that
 transfers survive.
END
# Toxiproxy's own package has programs of the same names.
# A running service is restarted with a new version, and stopped before its program goes; what it keeps goes with a purge.
cat >"$root/DEBIAN/postinst" <<'END'
#!/bin/sh
set -e
if [ "$1" = configure ] && [ -n "$2" ] && [ -d /run/systemd/system ]; then
    systemctl --quiet try-restart squall.service || true
fi
END
cat >"$root/DEBIAN/prerm" <<'END'
#!/bin/sh
set -e
if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
    systemctl --quiet disable --now squall.service || true
fi
END
cat >"$root/DEBIAN/postrm" <<'END'
#!/bin/sh
set -e
if [ "$1" = purge ]; then
    rm -rf /var/lib/private/squall
    if [ -L /var/lib/squall ]; then rm /var/lib/squall; fi
fi
if [ -d /run/systemd/system ]; then systemctl daemon-reload || true; fi
END
chmod 0755 "$root/DEBIAN/postinst" "$root/DEBIAN/prerm" "$root/DEBIAN/postrm"
(cd "$root" && find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"
chmod 0644 "$root/DEBIAN/control" "$root/DEBIAN/md5sums"
package=$folder/squall_${version}_$architecture.deb
dpkg-deb --root-owner-group --build -Zxz "$root" "$package" >/dev/null
echo "== $package: $(du -k "$package" | cut -f 1) KiB"
