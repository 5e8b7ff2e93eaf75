#!/usr/bin/env python3
"""Pastes the commands of README.md into a shell as a reader would: does each role reach its goal?

    make readme                               about a minute
    python3 Tests/readme/roles.py talk        some of the sections, by a word of their heading
    python3 Tests/readme/roles.py --busy 4 --times 20   on a machine with four busy loops, 20 times each

Each block of `sh` of a section is pasted as a whole into one bash, in a new folder, and nothing waits for its programs but the
block itself. A goal is what a section promises; it is checked after its blocks. The ports of the README are replaced by
free ones. The user's own PostgreSQL is stood in for by one that the script starts. SQUALL is the command, by default
.build/release/squall. Exits 1 if a block fails, a goal isn't reached, or a role needs ten commands.
"""
import argparse, contextlib, json, os, re, shutil, signal, subprocess, sys, tempfile

TOP = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
sys.path.insert(0, os.path.join(TOP, "Benchmarks"))
from kit import postgres, programs

LONGEST = 300
# A clone, `make build` and the PATH come first.
BEFORE, MOST = 3, 9
failures = []


def verdict(section, holds, text):
    print(f"{'ok ' if holds else 'BAD'} {section:10} {text}", flush=True)
    if not holds:
        failures.append(section)


def sections():
    """Each section's blocks of `sh`, by its heading, and the files that it shows."""
    with open(os.path.join(TOP, "README.md"), encoding="utf-8") as file:
        text = file.read()
    found = {}
    for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        heading = part.splitlines()[0]
        blocks = re.findall(r"^```sh\n(.*?)^```", part, re.MULTILINE | re.DOTALL)
        files = re.findall(r"^`([^`\n]+)`:\n\n```json\n(.*?)^```", part, re.MULTILINE | re.DOTALL)
        if blocks:
            found[heading] = (blocks, files)
    return found


def commands(blocks):
    """The number of lines that a reader would type."""
    return sum(bool(line.strip()) for line in "".join(blocks).replace("\\\n", " ").splitlines())


class Shell:
    """A bash in a new folder, into which blocks are pasted one after the other."""
    is_busy = False

    def __init__(self, files, **more):
        self.folder = tempfile.mkdtemp(prefix="squall-readme-")
        for name, text in files:
            with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        tools = os.path.join(self.folder, ".tools")
        os.mkdir(tools)
        os.symlink(os.path.abspath(programs.SQUALL), os.path.join(tools, "squall"))
        plain = {name: value for name, value in os.environ.items() if not re.match(r"(?i)(.*_proxy$|GITHUB_|PG)", name)}
        environment = {**plain, "SQUALL_PROFILES": os.path.join(TOP, "Profiles"), **more}
        environment["PATH"] = tools + os.pathsep + environment["PATH"]
        self.bash = subprocess.Popen(["bash"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                     cwd=self.folder, env=environment, text=True, bufsize=1, start_new_session=True)
        self.output = ""

    def paste(self, block):
        """Pastes a block and waits for its end; the exit code of its last command."""
        signal.alarm(LONGEST)
        self.bash.stdin.write(f"{block}\necho \"== $?\"\n")
        self.bash.stdin.flush()
        for said in self.bash.stdout:
            ended = re.search(r"== (\d+)$", said.rstrip("\n"))
            if ended:
                self.output += said[: ended.start()]
                signal.alarm(0)
                return int(ended[1])
            self.output += said
        raise programs.Failure("bash has ended")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        signal.alarm(0)
        # What --detach has started has a session of its own, and tells its process.
        for process in re.findall(r"^detached: process (\d+),", self.output, re.MULTILINE):
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(process), signal.SIGKILL)
        for log in re.findall(r"its log is (\S+)$", self.output, re.MULTILINE):
            os.remove(log)
        os.killpg(self.bash.pid, signal.SIGKILL)  # The session is of its own, with what was started in it.
        self.bash.wait()
        self.bash.stdin.close()
        self.bash.stdout.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def cuts(shell, name):
    """The connection and the offset of each reset in a journal."""
    with open(os.path.join(shell.folder, name), encoding="utf-8") as file:
        entries = [json.loads(line) for line in file]
    return [(entry["connection"], entry["offset"]) for entry in entries if entry.get("fault") == "cut"]


def program(shell):
    sizes = {name: os.path.getsize(os.path.join(shell.folder, name)) for name in ("photo.jpg", "cut.jpg")}
    return sizes["photo.jpg"] == 100_000 and sizes["cut.jpg"] < 100_000 and "cut" in shell.output.split()


def database(shell):
    said = shell.output
    return ("lost at 64 KiB" in said and "lost at the same byte" in said and "far away" in said
            and (1, 65_536) in cuts(shell, "faults.jsonl"))


def web(shell):
    return shell.output.count("Hello through a slow network") >= 2


def upload(shell):
    told = re.search(r"(\d+) connections, [\d,]+ bytes sent twice \(([\d.]+) %\)", shell.output)
    # A client that starts over sends more than half of the file twice; on a busy machine more is in flight when a connection breaks.
    return told is not None and int(told[1]) > 1 and float(told[2]) < (25 if shell.is_busy else 5)


def pipeline(shell):
    met = shell.output.count("met 5 of 5 phases")
    return os.path.getsize(os.path.join(shell.folder, "report.html")) > 1_000 and shell.output.count("pass  ") == met == 3


def talk(shell):
    return "proved: downloaded and uploaded" in shell.output and os.path.exists(os.path.join(shell.folder, "walkaway.svg"))


def profile(shell):
    return cuts(shell, "journal.jsonl") == [(1, 1_048_576), (2, 1_048_576)]


GOALS = {
    "I have a program": ("a file arrives through a bad network, and another one is cut, by an unchanged curl", program),
    "I have a database": ("two connections are lost at the same byte, and a far server answers", database),
    "I have a web client": ("the page arrives through the HTTP proxy and through SOCKS5", web),
    "I have an upload": ("the file arrives whole over several connections, less than 5 % of it twice", upload),
    "I have a CI pipeline": ("three runs meet every phase and pass, and the report is written", pipeline),
    "I have a talk to give": ("both transfers are proved, and the picture is drawn", talk),
    "A profile of your own": ("the first two connections are cut, and the third file is whole", profile),
}


def run(heading, blocks, files, environment, fixed):
    given = {}

    def free(match):
        port = match[0]
        if port not in given:
            given[port] = fixed.get(port) or programs.free_port()
        return str(given[port])

    name = heading.split()[-1] if heading.startswith("I have") else "profile"
    name = {"client": "web", "give": "talk"}.get(name, name)
    with Shell(files, **environment) as shell:
        for block in blocks:
            block = re.sub(r"(?<=[: ])(?:5432|643[2-4]|800[0-2]|808[0-3]|8888)\b", free, block)
            try:
                code = shell.paste(block)
            except programs.Failure as failure:
                return verdict(name, False, f"{block}: {failure}\n{shell.output[-1_500:]}")
            if code:
                return verdict(name, False, f"exit code {code}: {block}\n{shell.output[-1_500:]}")
        goal, reached = GOALS[heading]
        holds = reached(shell)
        verdict(name, holds, goal + ("" if holds else f"\n{shell.output[-1_500:]}"))
    if heading.startswith("I have"):
        verdict(name, BEFORE + commands(blocks) <= MOST, f"{BEFORE + commands(blocks)} commands")


def late(*_):
    raise programs.Failure(f"no end after {LONGEST} s")


@contextlib.contextmanager
def busy(count):
    """Runs busy loops."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def paste(heading, blocks, files):
    if "database" not in heading:
        return run(heading, blocks, files, {}, {})
    with postgres.Postgres() as server:
        run(heading, blocks, files, {"PGUSER": "squall", "PGDATABASE": "postgres"}, {"5432": server.port})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", help="words of the headings that are meant; all without one")
    parser.add_argument("--times", type=int, default=1, help="how often each section is pasted")
    parser.add_argument("--busy", type=int, default=0, help="busy loops beside it")
    options = parser.parse_args()
    programs.need_squall()
    Shell.is_busy = options.busy > 0
    signal.signal(signal.SIGALRM, late)
    found = sections()
    missing = GOALS.keys() - found.keys() | found.keys() - GOALS.keys()
    verdict("sections", not missing, f"{len(found)} sections have commands" + (f"; without a goal, or gone: {missing}" if missing else ""))
    wanted = [heading for heading in found if heading in GOALS
              and (not options.words or any(word.lower() in heading.lower() for word in options.words))]
    with busy(options.busy):
        for heading in wanted:
            whole = 0
            for _ in range(options.times):
                before = len(failures)
                paste(heading, *found[heading])
                whole += len(failures) == before
            if options.times > 1:
                print(f"    {heading}: {whole} of {options.times}", flush=True)
    if failures:
        raise SystemExit(f"not all hold: {', '.join(failures)}")
    print("all hold")


main()
