#!/usr/bin/env bash
# Installs the Debian packages that a purpose needs, when they are missing.
#
#     scripts/install.sh PURPOSE...     the purposes: build test peers readme forward exec captures trust clusters origins page drawn terminal action
#                                   acceptance databases stage control-fuzz transfers queue tools load bench https-bench allocations install deb packages image
#                                   loss-lab
#
# Does nothing, and needs no network, when everything is there.
set -euo pipefail

# First, because no package brings it. To install needs none, and sudo's PATH often lacks it.
if [[ "$*" != install ]] && ! command -v swift >/dev/null; then
    echo "$0: the Swift toolchain (6.2 or newer) is missing: see https://www.swift.org/install/linux/" >&2
    exit 1
fi

missing=()
wants_clients=no
wants_schemas=no
wants_grpc=no
wants_schemathesis=no

# A package is there when the command that follows it succeeds.
need() {
    local package=$1
    shift
    "$@" >/dev/null 2>&1 || missing+=("$package")
}

has() { command -v "$1" || [[ -x /usr/sbin/$1 ]]; }

for purpose in "$@"; do
    case $purpose in
    build)
        need pkg-config has pkg-config
        need libevent-dev pkg-config --exists libevent_core
        need libssl-dev pkg-config --exists libcrypto
        ;;
    test)
        need curl has curl
        need bsdutils has script
        need util-linux has unshare
        need iproute2 has ip
        need python3 has python3
        need python3-pip python3 -m pip --version
        wants_clients=yes
        ;;
    captures)
        need python3 has python3
        need curl has curl
        need util-linux has unshare
        need tshark has tshark
        ;;
    origins)
        need python3 has python3
        need node-express test -e /usr/share/nodejs/express/index.js
        need nginx-light test -x /usr/sbin/nginx
        ;;
    peers)
        # What some tests of the control server skip without.
        need nodejs has node
        need default-jdk-headless has javac
        need golang-go has go
        ;;
    loss-lab)
        need python3 has python3
        need iproute2 has ip
        ;;
    page)
        need python3 has python3
        need chromium has chromium
        ;;
    drawn)
        need python3 has python3
        need librsvg2-bin has rsvg-convert
        ;;
    terminal)
        need python3 has python3
        need tmux has tmux
        ;;
    action)
        need python3 has python3
        need python3-yaml python3 -c 'import yaml'
        need curl has curl
        ;;
    acceptance)
        need python3 has python3
        need curl has curl
        need haproxy has haproxy
        need nginx has nginx
        need postgresql compgen -G '/usr/lib/postgresql/*/bin/initdb'
        need wget has wget
        ;;
    databases)
        need python3 has python3
        need postgresql compgen -G '/usr/lib/postgresql/*/bin/initdb'
        need postgresql-client has pgbench
        need redis-server has redis-server
        need redis-tools has redis-benchmark
        ;;
    stage)
        need python3 has python3
        need python3-pip python3 -m pip --version
        need postgresql compgen -G '/usr/lib/postgresql/*/bin/initdb'
        need postgresql-client has pgbench
        need redis-server has redis-server
        need redis-tools has redis-benchmark
        need util-linux has setsid
        wants_grpc=yes
        ;;
    forward)
        need python3 has python3
        need python3-pip python3 -m pip --version
        need curl has curl
        need openssl has openssl
        ;;
    trust)
        need python3 has python3
        need curl has curl
        need openssl has openssl
        need nodejs has node
        need golang-go has go
        need default-jdk-headless has javac
        need git has git
        need ruby has ruby
        need python3-requests /usr/bin/python3 -c 'import requests'
        need python3-aiohttp /usr/bin/python3 -c 'import aiohttp'
        need python3-httpx /usr/bin/python3 -c 'import httpx'
        need python3-h2 /usr/bin/python3 -c 'import h2'
        need python3-grpcio /usr/bin/python3 -c 'import grpc'
        ;;
    exec)
        need python3 has python3
        need python3-pip python3 -m pip --version
        need curl has curl
        need wget has wget
        need busybox-static has busybox
        need nodejs has node
        need golang-go has go
        need default-jdk-headless has javac
        need musl-tools has musl-gcc
        need gcc-multilib test -e /usr/include/gnu/stubs-32.h
        need rclone has rclone
        need git has git
        need chromium has chromium
        need postgresql compgen -G '/usr/lib/postgresql/*/bin/initdb'
        need postgresql-client has psql
        need redis-server has redis-server
        need redis-tools has redis-cli
        need python3-requests /usr/bin/python3 -c 'import requests'
        need python3-aiohttp /usr/bin/python3 -c 'import aiohttp'
        need python3-uvloop /usr/bin/python3 -c 'import uvloop'
        need python3-psycopg2 /usr/bin/python3 -c 'import psycopg2'
        need python3-grpcio /usr/bin/python3 -c 'import grpc'
        need libnetty-java test -e /usr/share/java/netty-transport.jar
        need openssh-client has ssh
        need openssh-server test -x /usr/sbin/sshd
        need rsync has rsync
        need mariadb-client has mariadb
        need mariadb-server test -x /usr/sbin/mariadbd
        need nginx-light test -x /usr/sbin/nginx
        ;;
    clusters)
        need python3 has python3
        need redis-server has redis-server
        need redis-tools has redis-cli
        need kcat has kcat
        ;;
    readme)
        need python3 has python3
        need curl has curl
        need postgresql compgen -G '/usr/lib/postgresql/*/bin/initdb'
        need postgresql-client has psql
        need python3-psycopg /usr/bin/python3 -c 'import psycopg'
        need redis-server has redis-server
        need python3-redis /usr/bin/python3 -c 'import redis'
        ;;
    control-fuzz)
        need python3 has python3
        need python3-pip python3 -m pip --version
        wants_schemathesis=yes
        ;;
    transfers)
        need python3 has python3
        need curl has curl
        ;;
    queue)
        need python3 has python3
        need gcc has cc
        need iproute2 has ip
        ;;
    tools)
        need python3 has python3
        need curl has curl
        need wget has wget
        need aria2 has aria2c
        need rclone has rclone
        ;;
    load)
        need python3 has python3
        need gcc has cc
        need libc6-dev test -e /usr/include/stdio.h
        ;;
    bench)
        need haproxy has haproxy
        need nginx has nginx
        need libnginx-mod-stream test -e /usr/lib/nginx/modules/ngx_stream_module.so
        need socat has socat
        ;;
    https-bench)
        need python3 has python3
        need openssl has openssl
        need haproxy has haproxy
        need nginx has nginx
        need wrk has wrk
        ;;
    install)
        need python3 has python3
        need binutils has strip
        ;;
    deb)
        need python3 has python3
        need binutils has strip
        need dpkg-dev has dpkg-shlibdeps
        need xz-utils has xz
        ;;
    packages)
        need debootstrap has debootstrap
        need mandoc has mandoc
        need lintian has lintian
        ;;
    image)
        need python3 has python3
        need python3-pip python3 -m pip --version
        need debootstrap has debootstrap
        need buildah has buildah
        need iproute2 has ip
        need util-linux has unshare
        wants_schemas=yes
        ;;
    allocations)
        need python3 has python3
        need valgrind has callgrind_control
        need binutils has strip
        need gcc has cc
        need libc6-dev test -e /usr/include/stdio.h
        ;;
    *)
        echo "$0: unknown purpose $purpose (see the head of this file)" >&2
        exit 2
        ;;
    esac
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

# The client library of Python's users, for a test of the control server. In a folder of its own, below the build.
clients=$(dirname "$0")/../.build/clients
if [[ $wants_clients == yes && ! -d $clients/toxiproxy ]]; then
    echo "== installing toxiproxy-python in .build/clients (from PyPI)"
    python3 -m pip install --quiet --disable-pip-version-check --root-user-action ignore \
        --target "$clients" toxiproxy-python==0.1.1 requests
fi

# The generator of requests for `make control-fuzz`, with what it needs itself, hypothesis above all.
schemathesis=$(dirname "$0")/../.build/schemathesis
if [[ $wants_schemathesis == yes && ! -d $schemathesis/schemathesis ]]; then
    echo "== installing schemathesis in .build/schemathesis (from PyPI)"
    python3 -m pip install --quiet --disable-pip-version-check --root-user-action ignore \
        --target "$schemathesis" schemathesis==4.32.5
fi

# The published schemas of Kubernetes, and what checks a manifest against them.
schemas=$(dirname "$0")/../.build/kubernetes-validate
if [[ $wants_schemas == yes && ! -d $schemas/kubernetes_validate ]]; then
    echo "== installing kubernetes-validate in .build/kubernetes-validate (from PyPI)"
    python3 -m pip install --quiet --disable-pip-version-check --root-user-action ignore \
        --target "$schemas" kubernetes-validate==1.37.0
fi
if [[ $wants_schemas == yes ]] && ! command -v kubectl >/dev/null; then
    echo "$0: kubectl 1.21 or newer is missing, and Debian 12 has none: see https://kubernetes.io/docs/tasks/tools/" >&2
    exit 1
fi

# gRPC for `make stage`: its service and its client.
grpc=$(dirname "$0")/../.build/grpc
if [[ $wants_grpc == yes && ! -d $grpc/grpc ]]; then
    echo "== installing grpcio in .build/grpc (from PyPI)"
    python3 -m pip install --quiet --disable-pip-version-check --root-user-action ignore \
        --target "$grpc" grpcio==1.85.1
fi
