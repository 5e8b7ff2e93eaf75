#!/usr/bin/env python3
"""Puts the built command and what belongs to it below a prefix, and takes it away again.

    scripts/install_files.py install PROGRAM PREFIX [--destdir FOLDER] [--zsh FOLDER] [--force]
    scripts/install_files.py uninstall PREFIX [--destdir FOLDER]

Installs the stripped program with the names toxiproxy-cli and toxiproxy-server, the profiles, the manual pages, completions
for bash, zsh and fish, and a unit of systemd. A list of what was made, PREFIX/share/squall/installed, is what uninstall
goes by. An installation that is there already is removed first. Files of others at these paths are named, and nothing is
changed (exit code 2); --force overwrites them.
"""
import argparse, os, subprocess, sys, tempfile

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
    """What belongs below a prefix. Paths are from the prefix, those of its own missing folders as well (`..`)."""

    def __init__(self, destdir, prefix):
        self.prefix = prefix
        self.top = os.path.abspath((destdir.rstrip("/") if destdir else "") + prefix)
        self.links, self.contents = {}, {}

    def path(self, name):
        return os.path.normpath(os.path.join(self.top, name))

    def copy(self, source, name, mode=0o644):
        with open(source, "rb") as file:
            self.write(name, file.read(), mode)

    def write(self, name, content, mode=0o644):
        self.contents[name] = (content, mode)

    def link(self, target, name):
        self.links[name] = target

    def installed(self):
        """Pairs of `file` or `folder` and a path: what an installation has made here; nothing without one."""
        try:
            with open(self.path(LIST), encoding="utf-8") as file:
                return [tuple(line.split(" ", 1)) for line in file.read().splitlines()]
        except FileNotFoundError:
            return []

    def foreign(self):
        """Paths that exist already, and that no installation has made."""
        own = {name for _, name in self.installed()} | {LIST}
        return [self.path(name) for name in (*self.contents, *self.links) if name not in own and os.path.lexists(self.path(name))]

    def save(self):
        """Puts everything in its place, the list first: what was stopped halfway can be removed. The umask doesn't count."""
        names = [*self.contents, *self.links, LIST]
        folders = set()
        for name in names:
            folder = os.path.dirname(self.path(name))
            while not os.path.isdir(folder):
                folders.add(folder)
                folder = os.path.dirname(folder)
        folders = sorted(folders)
        for folder in folders:
            os.mkdir(folder)
            os.chmod(folder, 0o755)
        lines = [f"file {name}\n" for name in names] + [f"folder {os.path.relpath(path, self.top)}\n" for path in folders[::-1]]
        for name, (content, mode) in {LIST: ("".join(lines).encode(), 0o644), **self.contents}.items():
            with open(self.cleared(name), "wb") as file:
                file.write(content)
                os.chmod(file.fileno(), mode)
        for name, target in self.links.items():
            os.symlink(target, self.cleared(name))
        return len(names)

    def cleared(self, name):
        """A path where no file is any more."""
        path = self.path(name)
        if os.path.lexists(path):
            os.unlink(path)
        return path


def install(arguments):
    program, target = os.path.abspath(arguments.program), Installation(arguments.destdir, arguments.prefix)
    if not os.access(program, os.X_OK):
        sys.exit(f"{program} isn't there: make static builds it")
    profiles = os.path.join(SOURCES, "Profiles")
    with tempfile.TemporaryDirectory() as folder:
        stripped = os.path.join(folder, "squall")
        output("strip", "-o", stripped, program)
        target.copy(stripped, "bin/squall", 0o755)
        manuals = os.path.join(folder, "manuals")
        output(sys.executable, os.path.join(SOURCES, "scripts/manuals.py"), program, manuals)
        for name in sorted(os.listdir(manuals)):
            target.copy(os.path.join(manuals, name), f"share/man/man1/{name}")
    for name, page in (("toxiproxy-cli", "squall-ctl"), ("toxiproxy-server", "squall-serve")):
        target.link("squall", f"bin/{name}")
        target.write(f"share/man/man1/{name}.1", f".so man1/{page}.1\n".encode())
    for folder, _, names in sorted(os.walk(profiles)):
        below = os.path.relpath(folder, profiles)
        for name in sorted(names):
            target.copy(os.path.join(folder, name), os.path.normpath(os.path.join("share/squall/profiles", below, name)))
    for shell, name in SHELLS.items():
        script = output(program, "--generate-completion-script", shell)
        target.write(name.format(zsh=arguments.zsh), script.rstrip(b"\n") + b"\n")
    with open(os.path.join(SOURCES, "scripts/squall.service"), encoding="utf-8") as file:
        target.write("lib/systemd/system/squall.service", file.read().replace("@PREFIX@", arguments.prefix).encode())
    foreign = target.foreign()
    if foreign and not arguments.force:
        print("these files are there, and no installation of squall has made them:", *foreign, sep="\n    ", file=sys.stderr)
        print("nothing was installed; --force (make install FORCE=1) overwrites them", file=sys.stderr)
        sys.exit(2)
    if target.installed():
        uninstall(arguments)
    print(f"== installed {target.save()} files below {target.top}")


def uninstall(arguments):
    target = Installation(arguments.destdir, arguments.prefix)
    installed = target.installed()
    if not installed:
        sys.exit(f"nothing is installed below {target.top}: {target.path(LIST)} isn't there")
    for kind, name in installed:
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
    verb.add_argument("--force", action="store_true", help="overwrite files of others")
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
