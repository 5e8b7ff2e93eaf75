#!/usr/bin/env python3
"""Installs the command, uses it, and removes it again: nothing may be left.

    python3 Tests/System/packages/packages.py PROGRAM PACKAGE     as root; PROGRAM: a static build, PACKAGE: its .deb

First by `make install` and `make uninstall` with a DESTDIR and with a prefix, with a umask of 077 and beside files of others,
then as a package in a Debian made by debootstrap: the demo, the manual, the completions of three shells, the unit of systemd,
a newer version, Toxiproxy's package. Last the libraries of the static build in a Debian of the next release.
"""
import gzip, os, re, shutil, stat, subprocess, sys, tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from kit import roots
from kit.programs import ROOT as TOP
from kit.verdicts import check, finish

# What dpkg, apt and man-db keep for themselves of a package that is gone.
RECORDS = (
    "dev", "proc", "sys", "run", "tmp", "var/log", "var/cache", "var/lib/apt", "var/lib/dpkg/status", "var/lib/dpkg/status-old",
    "var/lib/dpkg/lock", "var/lib/dpkg/lock-frontend", "var/lib/dpkg/triggers", "etc/ld.so.cache", "root",
)
TOOLS = ["bash-completion", "fish", "man-db", "systemd", "zsh"]
CHROOT = "/usr/sbin/chroot"
SYSTEM_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"


def tree(top, ignored=()):
    """What is below a folder: the type, mode, size and target of each path."""
    found = {}
    for folder, folders, files in os.walk(top):
        below = os.path.relpath(folder, top)
        folders[:] = [name for name in folders if os.path.normpath(os.path.join(below, name)) not in ignored]
        for name in folders + files:
            path = os.path.normpath(os.path.join(below, name))
            if path in ignored:
                continue
            facts = os.lstat(os.path.join(top, path))
            size = facts.st_size if stat.S_ISREG(facts.st_mode) else 0
            target = os.readlink(os.path.join(top, path)) if stat.S_ISLNK(facts.st_mode) else ""
            found[path] = (facts.st_mode, size, target)
    return found


def differences(before, after):
    return sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))


def output(*command, **more):
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)
    return result.returncode, result.stdout


def check_manuals(program):
    with tempfile.TemporaryDirectory() as folder:
        code, text = output(sys.executable, os.path.join(TOP, "scripts/manuals.py"), program, folder)
        check(code == 0, "the manual pages are made", text)
        pages = sorted(os.listdir(folder))
        _, lint = output("mandoc", "-T", "lint", *(os.path.join(folder, page) for page in pages))
        # Pages that name one another aren't installed yet, and the edition is in the place of the system's name.
        told = [line for line in lint.splitlines() if not re.search("referenced manual not found|operating system", line)]
        check(not told, f"mandoc finds nothing in {len(pages)} pages", "\n".join(told))
        with open(os.path.join(TOP, "docs/command.md"), encoding="utf-8") as file:
            table = re.search(r"^## Environment\n(.*?)^## ", file.read(), re.S | re.M)[1]
        variables = sorted(name for cell in re.findall(r"^\| (`.*?) \|", table, re.M) for name in re.findall(r"`([^`]+)`", cell))
        with open(os.path.join(folder, "squall.1"), encoding="utf-8") as file:
            items = re.findall(r"^\.It (Ev .*)$", file.read(), re.M)
        described = sorted(name.removeprefix("Ev ") for item in items for name in item.split(" , "))
        check(variables == described, "squall(1) has each variable of the table", f"{variables} {described}")
        _, text = output(program, "--help")
        names = re.findall(r"^  ([a-z]+) {2,}", text.split("SUBCOMMANDS:")[1], re.M)
        check(set(pages) == {"squall.1", *(f"squall-{name}.1" for name in names)}, "every subcommand has a page", str(pages))


def check_install(program):
    for prefix in ("/usr/local", "/opt/a prefix"):
        with tempfile.TemporaryDirectory() as destdir:
            os.chmod(destdir, 0o755)
            neighbour = os.path.join(destdir, "usr/local/share/man/man1")
            os.makedirs(neighbour)
            with open(os.path.join(neighbour, "other.1"), "w", encoding="utf-8"):
                pass
            before = tree(destdir)
            make = ["make", "-s", "-C", TOP, f"STATIC={os.path.dirname(os.path.dirname(program))}", f"PREFIX={prefix}", f"DESTDIR={destdir}"]
            for _ in range(2):
                code, text = output(*make, "install", umask=0o077)
                check(code == 0, f"make install below {prefix}", text)
            made = {path: facts for path, facts in tree(destdir).items() if before.get(path) != facts}
            closed = [path for path, (mode, _, target) in made.items() if not target and stat.S_IMODE(mode) not in (0o755, 0o644)]
            check(not closed, "every user can read what a umask of 077 has installed", str(closed))
            top = destdir + prefix
            code, text = output(os.path.join(top, "bin/squall"), "profiles", "wifi-roam", env={})
            check(code == 0 and "wifi-roam" in text, "the installed command finds its profiles", text)
            code, text = output(os.path.join(top, "bin/toxiproxy-cli"), "--version", env={})
            check(text.startswith("toxiproxy-cli version 2."), "the installed toxiproxy-cli is one", text)
            with open(os.path.join(top, "lib/systemd/system/squall.service"), encoding="utf-8") as file:
                unit = file.read()
            check(f'ExecStart="{prefix}/bin/squall" ' in unit, "the unit names the installed program")
            lines = {"Wants=network-online.target", "After=network-online.target", "StartLimitIntervalSec=0", "RestartSec=2"}
            check(lines <= set(unit.splitlines()), "the unit waits for the network, and tries again without end")
            code, text = output(*make, "uninstall")
            check(code == 0, f"make uninstall below {prefix}", text)
            left = differences(before, tree(destdir))
            check(not left, f"nothing is left below {prefix}", str(left))
            code, text = output(*make, "uninstall")
            check(code != 0 and "nothing is installed" in text, "removing it again is an error", text)
            check_foreign(make, destdir, top)


def check_foreign(make, destdir, top):
    """Toxiproxy's own programs, put there without a package."""
    os.makedirs(os.path.join(top, "bin"), exist_ok=True)
    path = os.path.join(top, "bin/toxiproxy-server")
    with open(path, "w", encoding="utf-8") as file:
        file.write("another's")
    before = tree(destdir)
    code, text = output(*make, "install")
    # make has an exit code of its own.
    check(code == 2 and "Error 2" in text and path in text, "make install names a file of others", f"{code} {text}")
    check(not differences(before, tree(destdir)), "and changes nothing")
    code, text = output(*make, "install", "FORCE=1")
    check(code == 0 and os.path.islink(path), "FORCE=1 overwrites it", text)
    code, text = output(*make, "install")
    check(code == 0, "then it is one of the installation", text)
    output(*make, "uninstall")
    check(not os.path.lexists(path), "which is removed", path)


BASH = """
source /usr/share/bash-completion/bash_completion
_completion_loader squall
COMP_LINE=$1; COMP_POINT=${#COMP_LINE}; read -ra COMP_WORDS <<< "$COMP_LINE"; COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
$(complete -p squall | sed 's/.*-F \\([^ ]*\\).*/\\1/') squall "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
printf '%s\\n' "${COMPREPLY[@]}"
"""
COMPLETED = {"squall ser": "serve", "squall run wifi-w": "wifi-walkaway", "squall test --profile nlc-3g-g": "nlc-3g-good"}
ZSH = "autoload -Uz compinit; compinit -u -d /tmp/zcompdump; whence -w _squall; print -r -- ${_comps[squall]}; autoload +X _squall"


def check_package(package):
    original = roots.debian("bookworm", TOOLS)
    root = original + "-used"
    shutil.rmtree(root, ignore_errors=True)
    roots.run("cp", "-a", original, root)
    try:
        with roots.mounted(root):
            use_package(root, package)
    finally:
        shutil.rmtree(root)


def check_build(program, package):
    """A umask of 077, and sources without git: the same files."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("DEB")}
        script = os.path.join(TOP, "scripts/deb.sh")
        code, text = output(script, program, folder, umask=0o077, env={**environment, "GIT_DIR": "/nowhere"})
        check(code == 0, "scripts/deb.sh needs no git", text)
        made = [os.path.join(folder, name) for name in os.listdir(folder)]
        listed = [output("dpkg-deb", "--contents", path)[1].splitlines() for path in (package, *made)]
        # The mode, the owner and the path: the date is another one.
        rows = [[(line.split()[0], line.split()[1], line.split(None, 5)[5]) for line in lines] for lines in listed]
        check(len(rows) == 2 and rows[0] == rows[1], "a umask changes no file of the package", str(rows[-1])[:2000])


def check_licenses(package):
    with tempfile.TemporaryDirectory() as folder:
        roots.run("dpkg-deb", "--extract", package, folder)
        with gzip.open(f"{folder}/usr/share/doc/squall/libraries.txt.gz", "rt", encoding="utf-8") as file:
            text = file.read()
    for library, words in {"llhttp": "Fedor Indutny", "BoringSSL": "derived from BoringSSL"}.items():
        check(words in text, f"the notices have the license of {library}")


def use_package(root, package):
    # Libraries that the package depends on stay, as apt leaves them.
    code, text = output("dpkg-deb", "--field", package, "Depends")
    for name in re.findall(r"(?:^|, )([a-z0-9.+-]+)", text):
        roots.install(root, name)
    before = tree(root, RECORDS)
    shutil.copy(package, f"{root}/squall.deb")
    roots.install(root, "/squall.deb")
    os.unlink(f"{root}/squall.deb")
    made = differences(before, tree(root, RECORDS))
    check("usr/bin/squall" in made and not any(path.startswith(("etc/", "usr/local/")) for path in made), "the package is installed")

    def inside(*command, **environment):
        values = {"PATH": "/usr/bin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8", "TERM": "xterm", **environment}
        return output(CHROOT, root, *command, env=values)

    code, text = output(
        CHROOT, "--userspec=65534:65534", root, "/usr/bin/squall", "demo", "--size", "16MiB", "--seed", "7",
        env={"PATH": "/usr/bin", "LC_ALL": "C.UTF-8"},
    )
    check(code == 0 and "proved: downloaded and uploaded" in text, "squall demo", text[-2000:])
    for page, word in (("squall", "SQUALL_PROFILES"), ("squall-serve", "--strict-compat"), ("squall-ctl", "toxic"), ("toxiproxy-cli", "squall-ctl")):
        code, text = inside("man", page, MANPAGER="cat", MANWIDTH="100")
        check(code == 0 and word in text and "NAME" in text, f"man {page}", text[:300])
    for line, word in COMPLETED.items():
        code, text = inside("bash", "-c", BASH, "bash", line)
        check(word in text.split(), f"bash completes {line}", text)
    # Names of profiles are completed by the line of an interactive fish alone.
    code, text = inside("fish", "-c", "complete -C 'squall ser'")
    check(any(line.startswith("serve") for line in text.splitlines()), "fish completes squall ser", text)
    code, text = inside("zsh", "-fc", ZSH)
    check(code == 0 and "_squall: function" in text and text.split()[-1] == "_squall", "zsh knows the completion of squall", text)
    code, text = inside("systemd-analyze", "verify", "/usr/lib/systemd/system/squall.service")
    check(code == 0 and "squall" not in text, "systemd takes the unit", text)
    check_newer(root, package, inside)
    check_toxiproxy(root, package, inside)
    code, text = inside("apt-get", "purge", "-y", "-qq", "squall", DEBIAN_FRONTEND="noninteractive", PATH=SYSTEM_PATH)
    check(code == 0, "the package is removed", text)
    left = differences(before, tree(root, RECORDS))
    check(not left, "nothing is left of the package", str(left))


def check_newer(root, package, inside):
    """An installation over another one, with a stand-in for systemctl: systemd doesn't run here."""
    os.makedirs(f"{root}/run/systemd/system", exist_ok=True)
    shutil.copy(package, f"{root}/tmp/squall.deb")
    with open(f"{root}/tmp/systemctl", "w", encoding="utf-8") as file:
        file.write('#!/bin/sh\necho "$*" >>/tmp/calls\n')
    os.chmod(f"{root}/tmp/systemctl", 0o755)
    code, text = inside("dpkg", "--install", "/tmp/squall.deb", PATH=f"/tmp:{SYSTEM_PATH}")
    with open(f"{root}/tmp/calls", encoding="utf-8") as file:
        calls = file.read()
    check(code == 0 and "try-restart squall.service" in calls and "disable" not in calls, "a newer package restarts the service", text + calls)
    os.rmdir(f"{root}/run/systemd/system")


def check_toxiproxy(root, package, inside):
    """A package of Toxiproxy's name and programs."""
    made = f"{root}/tmp/toxiproxy"
    for path in ("DEBIAN", "usr/bin"):
        os.makedirs(f"{made}/{path}")
    with open(f"{made}/DEBIAN/control", "w", encoding="utf-8") as file:
        file.write("Package: toxiproxy\nVersion: 2\nArchitecture: all\nMaintainer: a <a@b.example>\nDescription: a\n")
    with open(f"{made}/usr/bin/toxiproxy-server", "w", encoding="utf-8"):
        pass
    roots.run("dpkg-deb", "--build", made, f"{made}.deb")
    code, text = inside("dpkg", "--install", "/tmp/toxiproxy.deb", PATH=SYSTEM_PATH)
    check(code == 1 and "conflict" in text, "Toxiproxy's package isn't installed beside it", text)
    check(os.path.islink(f"{root}/usr/bin/toxiproxy-server"), "and overwrites nothing")


# In place of the compiler: links a program with libcrypto's start, as scripts/static.sh has it.
SWIFT = """#!/bin/sh
case "$*" in *--show-bin-path) echo /tmp/static/build; exit;; esac
cd /tmp/static
echo '#include <openssl/crypto.h>' >main.c
echo 'int main(void) { return OPENSSL_init_crypto(0, NULL) != 1; }' >>main.c
cc -o build/squall main.c $(pkg-config --libs libevent_core libcrypto)
"""


def check_archives():
    """libcrypto.a refers to other libraries there."""
    root = roots.debian("trixie", ["gcc", "libc6-dev", "libevent-dev", "libssl-dev", "libzstd-dev", "pkg-config", "zlib1g-dev"])
    work = f"{root}/tmp/static"
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(f"{work}/scripts")
    shutil.copy(os.path.join(TOP, "scripts/static.sh"), f"{work}/scripts")
    with open(f"{work}/swift", "w", encoding="utf-8") as file:
        file.write(SWIFT)
    os.chmod(f"{work}/swift", 0o755)
    code, text = output(CHROOT, root, "/tmp/static/scripts/static.sh", "/tmp/static/build", env={"PATH": f"/tmp/static:{SYSTEM_PATH}"})
    check(code == 0, "scripts/static.sh links in Debian 13", text)
    code, text = output(CHROOT, root, "sh", "-c", "/tmp/static/build/squall && ldd /tmp/static/build/squall", env={"PATH": SYSTEM_PATH})
    check(code == 0 and not re.search("libcrypto|libz", text), "the program needs the C library alone", text)
    shutil.rmtree(work)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.strip())
    program, package = map(os.path.abspath, sys.argv[1:])
    check_manuals(program)
    check_install(program)
    code, text = output("lintian", "--fail-on", "error", "--suppress-tags", "bad-distribution-in-changes-file", package)
    check(code == 0, "lintian finds no error", text)
    check_build(program, package)
    check_licenses(package)
    check_package(package)
    check_archives()
    finish()


if __name__ == "__main__":
    main()
