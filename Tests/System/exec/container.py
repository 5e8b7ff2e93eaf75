#!/usr/bin/env python3
"""Runs `squall exec` below the filter of system calls that Docker gives to containers.

    SQUALL=.build/release/squall python3 Tests/System/exec/container.py
    SQUALL=… python3 Tests/System/exec/container.py FILE [NAME …]     the profile of another version of Docker, a default.json

The profile is that of Debian's package of Docker's sources, and libseccomp applies it. With Docker's usual capabilities Squall
can't duplicate programs' sockets, and makes them; with --cap-add SYS_PTRACE it can. Without pidfd_open(2) as well, as in versions of
Docker before 20.10, it ends with 125 and the remedy, and runs nothing. Programs that use their sockets in ways of their own work
there as elsewhere (`programs.py`, which can be given other names with FILE). Where the kernel has Yama, its scopes 1 and 2 are set, as
root: with 1 it works for `nobody`, with 2 it ends with 125.
"""
import ctypes, glob, json, os, shlex, shutil, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from kit import programs
from kit.verdicts import finish, verdict

PACKAGE = "golang-github-docker-docker-dev"
PLACE = "usr/share/gocode/src/github.com/docker/docker/profiles/seccomp/default.json"
# What `docker run` leaves to root.
CAPABILITIES = {
    "CAP_" + name for name in
    "CHOWN DAC_OVERRIDE FSETID FOWNER MKNOD NET_RAW SETGID SETUID SETFCAP SETPCAP NET_BIND_SERVICE SYS_CHROOT KILL AUDIT_WRITE".split()
}
MACHINE = {"x86_64": "amd64", "aarch64": "arm64"}
# The architecture of 32-bit programs, by libseccomp's number.
NARROW = {"x86_64": 0x40000003, "aarch64": 0x40000028}
COMPARISONS = {f"SCMP_CMP_{name}": number for number, name in enumerate("NE LT LE EQ GE GT MASKED_EQ".split(), 1)}
ALLOW, EPERM = 0x7FFF0000, 1
YAMA = "/proc/sys/kernel/yama/ptrace_scope"
# Every user can run it.
PYTHON3 = "/usr/bin/python3"

CLIENT = """
import socket, time
listener = socket.socket()
listener.bind(("127.0.0.1", 0))
listener.listen()
client = socket.create_connection(listener.getsockname())
server = listener.accept()[0]
began = time.monotonic()
client.sendall(b"x")
server.recv(1)
print("late" if time.monotonic() - began >= 0.2 else "in time")
"""
WORDS = ["exec", "--latency", "200ms", "--", PYTHON3, "-c", CLIENT]


class Comparison(ctypes.Structure):
    _fields_ = [("argument", ctypes.c_uint), ("operation", ctypes.c_int), ("first", ctypes.c_uint64), ("second", ctypes.c_uint64)]


def failure(code):
    """The action that fails a call with an errno value."""
    return 0x00050000 | code


def is_meant(rule, capabilities):
    def has(condition):
        found = rule.get(condition) or {}
        holds = []
        if "caps" in found:
            holds.append(bool(set(found["caps"]) & capabilities))
        if "arches" in found:
            holds.append(MACHINE[os.uname().machine] in found["arches"])
        return holds
    return all(has("includes")) and not any(has("excludes"))


def confine(path, capabilities, forbidden):
    """Applies a profile of Docker, but for some calls, to this process and those that it starts."""
    with open(path, encoding="utf-8") as file:
        profile = json.load(file)
    library = ctypes.CDLL("libseccomp.so.2")
    library.seccomp_init.restype = ctypes.c_void_p
    context = ctypes.c_void_p(library.seccomp_init(failure(EPERM)))
    library.seccomp_arch_add(context, NARROW[os.uname().machine])
    for rule in profile["syscalls"]:
        if not is_meant(rule, capabilities):
            continue
        action = ALLOW if rule["action"] == "SCMP_ACT_ALLOW" else failure(rule.get("errnoRet") or EPERM)
        found = [Comparison(entry["index"], COMPARISONS[entry["op"]], entry["value"], entry.get("valueTwo", 0)) for entry in rule.get("args") or []]
        for name in set(rule["names"]) - forbidden:
            number = library.seccomp_syscall_resolve_name(name.encode())
            if number == -1:  # Of a later kernel than the library knows.
                continue
            code = library.seccomp_rule_add_array(context, ctypes.c_uint32(action), number, len(found), (Comparison * max(1, len(found)))(*found))
            if code != 0 and number >= 0:
                raise SystemExit(f"seccomp_rule_add of {name}: {os.strerror(-code)}")
    code = library.seccomp_load(context)
    if code != 0:
        raise SystemExit(f"seccomp_load: {os.strerror(-code)}")


def run(path, capabilities, forbidden=()):
    command = [sys.executable, os.path.abspath(__file__), "confine", path, ",".join(capabilities), ",".join(forbidden)]
    command += [programs.SQUALL, *WORDS]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def run_programs(path, folder, names):
    """Runs programs.py with a Squall below the filter, where another user can run all of it."""
    os.chmod(folder, 0o755)
    shutil.copytree(os.path.join(os.path.dirname(HERE), "kit"), os.path.join(folder, "kit"))
    own, copied, profile, wrapper = (os.path.join(folder, *parts) for parts in (["exec", "own.py"], ["copied"], ["default.json"], ["squall"]))
    os.mkdir(os.path.dirname(own))
    for source, target in ((__file__, own), (programs.SQUALL, copied), (path, profile)):
        shutil.copy(source, target)
    words = [PYTHON3, own, "confine", profile, ",".join(CAPABILITIES), "", copied]
    with open(wrapper, "w", encoding="utf-8") as file:
        file.write(f"#!/bin/sh\nexec {shlex.join(words)} \"$@\"\n")
    for made in (profile, copied, wrapper):
        os.chmod(made, 0o755)
    command = [sys.executable, os.path.join(HERE, "programs.py"), *names]
    done = subprocess.run(command, env=os.environ | {"SQUALL": wrapper}, capture_output=True, text=True, timeout=900)
    verdict("programs", done.returncode == 0, " ".join(names) if done.returncode == 0 else done.stdout + done.stderr)


def limit_tracing():
    if not os.path.exists(YAMA) or os.geteuid() != 0:
        return print("--   yama       not tried: " + ("only root sets a scope" if os.path.exists(YAMA) else "this kernel hasn't got it"))
    with open(YAMA, encoding="utf-8") as file:
        before = file.read()
    command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--", programs.SQUALL, *WORDS]
    try:
        for scope, code in (("1", 0), ("2", 125)):
            with open(YAMA, "w", encoding="utf-8") as file:
                file.write(scope)
            done = subprocess.run(command, capture_output=True, text=True, timeout=60)
            verdict("yama", done.returncode == code, f"scope {scope}: exit code {done.returncode}: {done.stdout}{done.stderr}".strip())
    finally:
        with open(YAMA, "w", encoding="utf-8") as file:
            file.write(before)


def main():
    if sys.argv[1:2] == ["confine"]:
        confine(sys.argv[2], set(sys.argv[3].split(",")), set(sys.argv[4].split(",")))
        os.execv(sys.argv[5], sys.argv[5:])
    programs.need_squall()
    with tempfile.TemporaryDirectory() as folder:
        path = sys.argv[1] if len(sys.argv) > 1 else ""
        if not path:
            subprocess.run(["apt-get", "download", PACKAGE], cwd=folder, check=True, capture_output=True)
            subprocess.run(["dpkg-deb", "-x", *glob.glob(os.path.join(folder, "*.deb")), folder], check=True)
            path = os.path.join(folder, PLACE)
        for name, capabilities in (("usual", CAPABILITIES), ("tracing", CAPABILITIES | {"CAP_SYS_PTRACE"})):
            done = run(path, capabilities)
            verdict(name, done.returncode == 0 and done.stdout == "late\n" and not done.stderr,
                    f"exit code {done.returncode}: {done.stdout}{done.stderr}".strip())
        old = run(path, CAPABILITIES, ["pidfd_open"])
        verdict("old", old.returncode == 125 and "--cap-add SYS_PTRACE" in old.stderr and not old.stdout,
                f"exit code {old.returncode}: {old.stderr.strip() or old.stdout.strip()}")
        run_programs(path, folder, sys.argv[2:] or ["curl", "node", "redis-cli", "nginx"])
    limit_tracing()
    finish()


main()
