#!/usr/bin/env python3
"""Puts the built command and what belongs to it below a prefix, and takes it away again.

    scripts/install_files.py install PROGRAM PREFIX [--destdir FOLDER] [--zsh FOLDER]
    scripts/install_files.py uninstall PREFIX [--destdir FOLDER]

Installs the stripped program with the names toxiproxy-cli and toxiproxy-server, the profiles, the manual pages, completions
for bash, zsh and fish, and a unit of systemd. A list of what was made, PREFIX/share/squall/installed, is what uninstall
goes by. An installation that is there already is removed first.
"""
import argparse, os, shutil, subprocess, sys, tempfile

SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
LIST = "share/squall/installed"
SHELLS = {
    "bash": "share/bash-completion/completions/squall",
    "fish": "share/fish/vendor_completions.d/squall.fish",
    "zsh": "{zsh}/_squall",
}


def output(*command):
    result = subprocess.run(command, stdout=subprocess.PIPE)
    if result.returncode:
        sys.exit(f"{' '.join(command)}: exit code {result.returncode}")
    return result.stdout


class Installation:
    """What is below a prefix: `folders` and `files` are the paths that this installation has made, from the prefix."""

    def __init__(self, destdir, prefix):
        self.prefix = prefix
        self.top = (destdir.rstrip("/") if destdir else "") + prefix
        self.folders, self.files = [], []

    def path(self, name):
        return os.path.join(self.top, name)

    def folder(self, name):
        """Makes a folder, and notes each that wasn't there."""
        missing = []
        while name and not os.path.isdir(self.path(name)):
            missing.append(name)
            name = os.path.dirname(name)
        os.makedirs(self.top, exist_ok=True)
        for name in reversed(missing):
            os.mkdir(self.path(name))
            os.chmod(self.path(name), 0o755)
            self.folders.append(name)

    def place(self, name):
        """The path for a new file, which is noted."""
        self.folder(os.path.dirname(name))
        self.files.append(name)
        path = self.path(name)
        if os.path.lexists(path):
            os.unlink(path)
        return path

    def copy(self, source, name, mode=0o644):
        shutil.copyfile(source, path := self.place(name))
        os.chmod(path, mode)

    def write(self, name, content):
        with open(path := self.place(name), "wb") as file:
            file.write(content)
        os.chmod(path, 0o644)

    def link(self, target, name):
        os.symlink(target, self.place(name))

    def save(self):
        self.files.append(LIST)
        lines = [f"file {name}\n" for name in self.files] + [f"folder {name}\n" for name in reversed(self.folders)]
        with open(self.path(LIST), "w", encoding="utf-8") as file:
            file.writelines(lines)
        os.chmod(self.path(LIST), 0o644)


def install(arguments):
    program, target = arguments.program, Installation(arguments.destdir, arguments.prefix)
    if not os.access(program, os.X_OK):
        sys.exit(f"{program} isn't there: make static builds it")
    if os.path.exists(target.path(LIST)):
        uninstall(arguments)
    stripped = target.place("bin/squall")
    output("strip", "-o", stripped, program)
    os.chmod(stripped, 0o755)
    for name in ("toxiproxy-cli", "toxiproxy-server"):
        target.link("squall", f"bin/{name}")
    profiles = os.path.join(SOURCES, "Profiles")
    for folder, _, names in sorted(os.walk(profiles)):
        below = os.path.relpath(folder, profiles)
        for name in sorted(names):
            target.copy(os.path.join(folder, name), os.path.normpath(os.path.join("share/squall/profiles", below, name)))
    with tempfile.TemporaryDirectory() as folder:
        output(sys.executable, os.path.join(SOURCES, "scripts/manuals.py"), program, folder)
        for name in sorted(os.listdir(folder)):
            target.copy(os.path.join(folder, name), f"share/man/man1/{name}")
    for name, page in (("toxiproxy-cli", "squall-ctl"), ("toxiproxy-server", "squall-serve")):
        target.write(f"share/man/man1/{name}.1", f".so man1/{page}.1\n".encode())
    for shell, name in SHELLS.items():
        script = output(program, "--generate-completion-script", shell)
        target.write(name.format(zsh=arguments.zsh), script.rstrip(b"\n") + b"\n")
    with open(os.path.join(SOURCES, "scripts/squall.service"), encoding="utf-8") as file:
        target.write("lib/systemd/system/squall.service", file.read().replace("@PREFIX@", arguments.prefix).encode())
    target.save()
    print(f"== installed {len(target.files)} files below {target.top}")


def uninstall(arguments):
    target = Installation(arguments.destdir, arguments.prefix)
    try:
        with open(target.path(LIST), encoding="utf-8") as file:
            lines = file.read().splitlines()
    except FileNotFoundError:
        sys.exit(f"nothing is installed below {target.top}: {target.path(LIST)} isn't there")
    for line in lines:
        kind, _, name = line.partition(" ")
        path = target.path(name)
        if kind == "file" and os.path.lexists(path):
            os.unlink(path)
        # A folder into which others have put something stays.
        if kind == "folder" and os.path.isdir(path) and not os.listdir(path):
            os.rmdir(path)
    print(f"== removed squall from {target.top}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    verb = verbs.add_parser("install")
    verb.add_argument("program")
    verb.add_argument("--zsh", default="share/zsh/site-functions", help="the folder of zsh, from the prefix")
    verb.set_defaults(run=install)
    verbs.add_parser("uninstall").set_defaults(run=uninstall)
    for verb in verbs.choices.values():
        verb.add_argument("prefix")
        verb.add_argument("--destdir", default="", help="a folder that stands for the root of the machine")
    arguments = parser.parse_args()
    if not arguments.prefix.startswith("/"):
        parser.error(f"the prefix “{arguments.prefix}” isn't absolute")
    arguments.prefix = arguments.prefix.rstrip("/")
    try:
        arguments.run(arguments)
    except OSError as error:
        sys.exit(f"{error.filename}: {error.strerror} (errno {error.errno})")


if __name__ == "__main__":
    main()
