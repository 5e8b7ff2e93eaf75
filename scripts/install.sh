#!/usr/bin/env bash
# Installs the Debian packages that a purpose needs, when they are missing.
#
#     scripts/install.sh PURPOSE...
#
# Does nothing, and needs no network, when everything is there.
set -euo pipefail

# The packages of each purpose.
declare -A packages=(
    [build]="pkg-config libevent-dev libssl-dev"
    # After those of build: what their archives refer to.
    [static]="zlib1g-dev libzstd-dev"
    [test]="curl bsdutils util-linux iproute2 python3 python3-pip"
    # What some tests of the control server skip without.
    [peers]="nodejs default-jdk-headless golang-go"
    [readme]="python3 curl postgresql postgresql-client python3-psycopg redis-server python3-redis"
    [forward]="python3 python3-pip curl openssl"
    [exec]="python3 python3-pip curl wget busybox-static nodejs golang-go default-jdk-headless musl-tools gcc-multilib rclone git
        chromium postgresql postgresql-client redis-server redis-tools python3-requests python3-aiohttp python3-uvloop
        python3-psycopg2 python3-grpcio libnetty-java openssh-client openssh-server rsync mariadb-client mariadb-server
        nginx-light"
    [captures]="python3 curl util-linux tshark"
    [trust]="python3 curl openssl nodejs golang-go default-jdk-headless git ruby python3-requests python3-aiohttp python3-httpx
        python3-h2 python3-grpcio"
    [clusters]="python3 redis-server redis-tools kcat"
    [origins]="python3 node-express nginx-light"
    [page]="python3 chromium"
    [drawn]="python3 librsvg2-bin"
    [terminal]="python3 tmux"
    [action]="python3 python3-yaml curl"
    [acceptance]="python3 curl haproxy nginx postgresql wget"
    [databases]="python3 postgresql postgresql-client redis-server redis-tools"
    [stage]="python3 python3-pip postgresql postgresql-client redis-server redis-tools util-linux"
    [control-fuzz]="python3 python3-pip"
    [transfers]="python3 curl"
    [queue]="python3 gcc iproute2"
    [tools]="python3 curl wget aria2 rclone"
    [load]="python3 gcc libc6-dev"
    [bench]="haproxy nginx libnginx-mod-stream socat"
    [https-bench]="python3 openssl haproxy nginx wrk"
    [allocations]="python3 valgrind binutils gcc libc6-dev"
    [install]="python3 binutils"
    [deb]="python3 binutils dpkg-dev xz-utils"
    [packages]="debootstrap mandoc lintian"
    [image]="python3 python3-pip debootstrap buildah iproute2 util-linux"
    [loss-lab]="python3 iproute2"
)

# The command that succeeds when a package is there, of those that don't bring a program of their own name.
declare -A checks=(
    [aria2]="has aria2c"
    [binutils]="has strip"
    [bsdutils]="has script"
    [busybox-static]="has busybox"
    [default-jdk-headless]="has javac"
    [dpkg-dev]="has dpkg-shlibdeps"
    [gcc]="has cc"
    [gcc-multilib]="test -e /usr/include/gnu/stubs-32.h"
    [golang-go]="has go"
    [iproute2]="has ip"
    [libc6-dev]="test -e /usr/include/stdio.h"
    [libevent-dev]="pkg-config --exists libevent_core"
    [libnetty-java]="test -e /usr/share/java/netty-transport.jar"
    [libnginx-mod-stream]="test -e /usr/lib/nginx/modules/ngx_stream_module.so"
    [librsvg2-bin]="has rsvg-convert"
    [libssl-dev]="pkg-config --exists libcrypto"
    [libzstd-dev]="links zstd"
    [mariadb-client]="has mariadb"
    [mariadb-server]="test -x /usr/sbin/mariadbd"
    [musl-tools]="has musl-gcc"
    [nginx-light]="test -x /usr/sbin/nginx"
    [node-express]="test -e /usr/share/nodejs/express/index.js"
    [nodejs]="has node"
    [openssh-client]="has ssh"
    [openssh-server]="test -x /usr/sbin/sshd"
    [postgresql]="compgen -G '/usr/lib/postgresql/*/bin/initdb'"
    [postgresql-client]="has psql pgbench"
    [python3-aiohttp]="/usr/bin/python3 -c 'import aiohttp'"
    [python3-grpcio]="/usr/bin/python3 -c 'import grpc'"
    [python3-h2]="/usr/bin/python3 -c 'import h2'"
    [python3-httpx]="/usr/bin/python3 -c 'import httpx'"
    [python3-pip]="python3 -m pip --version"
    [python3-psycopg]="/usr/bin/python3 -c 'import psycopg'"
    [python3-psycopg2]="/usr/bin/python3 -c 'import psycopg2'"
    [python3-redis]="/usr/bin/python3 -c 'import redis'"
    [python3-requests]="/usr/bin/python3 -c 'import requests'"
    [python3-uvloop]="/usr/bin/python3 -c 'import uvloop'"
    [python3-yaml]="python3 -c 'import yaml'"
    [redis-tools]="has redis-cli redis-benchmark"
    [util-linux]="has unshare setsid"
    [valgrind]="has callgrind_control"
    [xz-utils]="has xz"
    [zlib1g-dev]="links z"
)

# First, because no package brings it. To install needs none, and sudo's PATH often lacks it.
if [[ "$*" != install ]] && ! command -v swift >/dev/null; then
    echo "$0: the Swift toolchain (6.2 or newer) is missing: see https://www.swift.org/install/linux/" >&2
    exit 1
fi

has() {
    local program
    for program; do command -v "$program" || [[ -x /usr/sbin/$program ]] || return 1; done
}

# Whether the archive of a library is there, or libcrypto.a doesn't refer to it.
links() {
    ! pkg-config --static --libs-only-l libcrypto | grep -qw -e "-l$1" ||
        [[ -e $(pkg-config --variable=libdir libcrypto)/lib$1.a ]]
}

missing=()
for purpose in "$@"; do
    if [[ -z ${packages[$purpose]:-} ]]; then
        echo "$0: unknown purpose $purpose (see the head of this file)" >&2
        exit 2
    fi
    for package in ${packages[$purpose]}; do
        eval "${checks[$package]:-has $package}" >/dev/null 2>&1 || missing+=("$package")
    done
done

if [[ ${#missing[@]} -gt 0 ]]; then
    sudo=()
    if [[ $(id -u) -ne 0 ]]; then sudo=(sudo); fi
    if ! command -v apt-get >/dev/null || { [[ ${#sudo[@]} -gt 0 ]] && ! command -v sudo >/dev/null; }; then
        echo "$0: missing: ${missing[*]} (Debian's names). Install them and run this again:" >&2
        echo "    apt-get install ${missing[*]}" >&2
        exit 1
    fi
    echo "== installing ${missing[*]} (Debian packages)"
    install() {
        "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive \
            apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
    }
    # The package lists may be absent or old: fetched only when the first try fails.
    if ! install 2>/dev/null; then
        "${sudo[@]}" apt-get update -qq
        install
    fi
fi

# from_pypi FOLDER MODULE PACKAGE... installs packages in a folder below .build, unless it has the module.
from_pypi() {
    local folder=$1 module=$2
    shift 2
    local target=$(dirname "$0")/../.build/$folder
    if [[ -d $target/$module ]]; then return; fi
    echo "== installing ${1%%==*} in .build/$folder (from PyPI)"
    # By the environment: pip before 22.1 has no such option.
    PIP_ROOT_USER_ACTION=ignore python3 -m pip install --quiet --disable-pip-version-check --target "$target" "$@"
}

for purpose in "$@"; do
    case $purpose in
    # The client library of Python's users, for a test of the control server, which fails without it. The others don't need it.
    test)
        from_pypi clients toxiproxy toxiproxy-python==0.1.1 requests ||
            echo "== toxiproxy-python could not be installed: one test of ToxiproxyClientTests will fail"
        ;;
    # The generator of requests, with what it needs itself, hypothesis above all.
    control-fuzz) from_pypi schemathesis schemathesis schemathesis==4.32.5 ;;
    # The service and the client of gRPC.
    stage) from_pypi grpc grpc grpcio==1.85.1 ;;
    # The published schemas of Kubernetes, and what checks a manifest against them.
    image)
        from_pypi kubernetes-validate kubernetes_validate kubernetes-validate==1.37.0
        if ! command -v kubectl >/dev/null; then
            echo "$0: kubectl 1.21 or newer is missing, and Debian 12 has none: see https://kubernetes.io/docs/tasks/tools/" >&2
            exit 1
        fi
        ;;
    esac
done
