#!/usr/bin/env python3
"""Installs the command, uses it, and removes it again: nothing may be left.

    python3 Tests/System/packages/packages.py PROGRAM PACKAGE     as root; PROGRAM: a static build, PACKAGE: its .deb

First by `make install` and `make uninstall` with a DESTDIR and with a prefix, then as a package in a Debian made by
debootstrap: the demo, the manual, the completions of three shells, the unit of systemd.
"""
import os, re, shutil, stat, subprocess, sys, tempfile

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
            os.makedirs(destdir + prefix, exist_ok=True)
            before = tree(destdir)
            make = ["make", "-s", "-C", TOP]
            values = [f"STATIC={os.path.dirname(os.path.dirname(program))}", f"PREFIX={prefix.replace(' ', chr(92) + ' ')}", f"DESTDIR={destdir}"]
            if " " in prefix:
                # make has no word with a space in it.
                script = os.path.join(TOP, "scripts/install_files.py")
                verbs = {
                    "install": [sys.executable, script, "install", program, prefix, "--destdir", destdir],
                    "uninstall": [sys.executable, script, "uninstall", prefix, "--destdir", destdir],
                }
            else:
                verbs = {verb: [*make, verb, *values] for verb in ("install", "uninstall")}
            for _ in range(2):
                code, text = output(*verbs["install"])
                check(code == 0, f"make install below {prefix}", text)
            top = destdir + prefix
            code, text = output(os.path.join(top, "bin/squall"), "profiles", "wifi-roam", env={})
            check(code == 0 and "wifi-roam" in text, "the installed command finds its profiles", text)
            code, text = output(os.path.join(top, "bin/toxiproxy-cli"), "--version", env={})
            check(text.startswith("toxiproxy-cli version 2."), "the installed toxiproxy-cli is one", text)
            with open(os.path.join(top, "lib/systemd/system/squall.service"), encoding="utf-8") as file:
                unit = file.read()
            check(f"ExecStart={prefix}/bin/squall " in unit, "the unit names the installed program")
            lines = {"Wants=network-online.target", "After=network-online.target", "StartLimitIntervalSec=0", "RestartSec=2"}
            check(lines <= set(unit.splitlines()), "the unit waits for the network, and tries again without end")
            code, text = output(*verbs["uninstall"])
            check(code == 0, f"make uninstall below {prefix}", text)
            left = differences(before, tree(destdir))
            check(not left, f"nothing is left below {prefix}", str(left))
            code, text = output(*verbs["uninstall"])
            check(code != 0 and "nothing is installed" in text, "removing it again is an error", text)


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
    code, text = inside("apt-get", "purge", "-y", "-qq", "squall", DEBIAN_FRONTEND="noninteractive", PATH="/usr/sbin:/usr/bin:/sbin:/bin")
    check(code == 0, "the package is removed", text)
    left = differences(before, tree(root, RECORDS))
    check(not left, "nothing is left of the package", str(left))


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.strip())
    program, package = map(os.path.abspath, sys.argv[1:])
    check_manuals(program)
    check_install(program)
    code, text = output("lintian", "--fail-on", "error", "--suppress-tags", "bad-distribution-in-changes-file", package)
    check(code == 0, "lintian finds no error", text)
    check_package(package)
    finish()


if __name__ == "__main__":
    main()
