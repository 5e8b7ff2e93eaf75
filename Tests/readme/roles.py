#!/usr/bin/env python3
"""Runs the commands of README.md as a reader would type them: does each role reach its goal?

    make readme                          about a minute
    python3 Tests/readme/roles.py talk   some of the sections, by a word of their heading

A section's blocks of `sh` are typed line by line into one bash, in a new folder. A line that ends with & has started when its
ports are listened on. A goal is what a section promises; it is checked after its lines. The ports of the README are replaced by
free ones. The user's own PostgreSQL is stood in for by one that the script starts. SQUALL is the command, by default
.build/release/squall. Exits 1 if a line fails, a goal isn't reached, or a role needs ten commands.
"""
import json, os, re, shutil, signal, subprocess, sys, tempfile, time

TOP = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
sys.path.insert(0, os.path.join(TOP, "Benchmarks"))
from kit import postgres, programs

PATIENCE, LONGEST = 30, 120
# A clone, `make build` and the PATH come first.
BEFORE, MOST = 3, 9
failures = []


def verdict(section, holds, text):
    print(f"{'ok ' if holds else 'BAD'} {section:10} {text}", flush=True)
    if not holds:
        failures.append(section)


def sections():
    """The lines of each section's blocks of `sh`, by its heading, and the files that it shows."""
    with open(os.path.join(TOP, "README.md"), encoding="utf-8") as file:
        text = file.read()
    found = {}
    for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        heading = part.splitlines()[0]
        blocks = re.findall(r"^```sh\n(.*?)^```", part, re.MULTILINE | re.DOTALL)
        files = re.findall(r"^`([^`\n]+)`:\n\n```json\n(.*?)^```", part, re.MULTILINE | re.DOTALL)
        if blocks:
            lines = "".join(blocks).replace("\\\n", " ").splitlines()
            found[heading] = ([line for line in lines if line.strip()], files)
    return found


def ports(line):
    """The ports that a line in the background listens on."""
    return [int(port) for port in re.findall(r"(?:--listen :|--forward-proxy :|--port |http\.server )(\d+)", line)]


def listening(port):
    """Whether a socket listens on a port. A look at the kernel's table is no connection that a profile would count."""
    with open("/proc/net/tcp") as v4, open("/proc/net/tcp6") as v6:
        rows = [line.split() for line in v4.readlines()[1:] + v6.readlines()[1:]]
    return any(row[3] == "0A" and int(row[1].rsplit(":", 1)[1], 16) == port for row in rows)


class Shell:
    """A bash in a new folder, in which lines are typed one after the other."""

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

    def type(self, line):
        """Types a line and waits for its end; its exit code."""
        signal.alarm(LONGEST)
        self.bash.stdin.write(f"{line}\necho \"== $?\"\n")
        self.bash.stdin.flush()
        for said in self.bash.stdout:
            ended = re.search(r"== (\d+)$", said.rstrip("\n"))
            if ended:
                self.output += said[: ended.start()]
                signal.alarm(0)
                return int(ended[1])
            self.output += said
        raise programs.Failure("bash has ended")

    def start(self, line):
        """Starts a line that ends with & and waits until its ports are listened on."""
        wanted = ports(line)
        assert wanted, f"no port in {line}"
        log = os.path.join(self.folder, ".log")
        self.type(f"{line.rstrip()[:-1]} >>{log} 2>&1 &")
        deadline = time.monotonic() + PATIENCE
        while not all(listening(port) for port in wanted):
            if time.monotonic() > deadline:
                with open(log, encoding="utf-8") as file:
                    raise programs.Failure(f"nothing listens on {wanted}: {file.read().strip()}")
            time.sleep(0.02)

    def __enter__(self):
        return self

    def __exit__(self, *_):
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


def database(shell):
    said = shell.output
    return ("lost at 64 KiB" in said and "lost at the same byte" in said and "far away" in said
            and (1, 65_536) in cuts(shell, "faults.jsonl"))


def web(shell):
    return shell.output.count("Directory listing for /") >= 2


def upload(shell):
    told = re.search(r"(\d+) connections, [\d,]+ bytes sent twice \(([\d.]+) %\)", shell.output)
    return told is not None and int(told[1]) > 1 and float(told[2]) < 5


def pipeline(shell):
    met = shell.output.count("met 5 of 5 phases")
    return os.path.getsize(os.path.join(shell.folder, "report.html")) > 1_000 and shell.output.count("pass  ") == met == 3


def talk(shell):
    return "proved: downloaded and uploaded" in shell.output and os.path.exists(os.path.join(shell.folder, "walkaway.svg"))


def profile(shell):
    return cuts(shell, "journal.jsonl") == [(1, 1_048_576), (2, 1_048_576)]


GOALS = {
    "I have a database": ("two connections are lost at the same byte, and a far server answers", database),
    "I have a web client": ("the page arrives through the HTTP proxy and through SOCKS5", web),
    "I have an upload": ("the file arrives whole over several connections, less than 5 % of it twice", upload),
    "I have a CI pipeline": ("three runs meet every phase and pass, and the report is written", pipeline),
    "I have a talk to give": ("both transfers are proved, and the picture is drawn", talk),
    "A profile of your own": ("the first two connections are cut, and the third file is whole", profile),
}


def run(heading, lines, files, environment, fixed):
    given = {}

    def free(match):
        port = match[0]
        if port not in given:
            given[port] = fixed.get(port) or programs.free_port()
        return str(given[port])

    name = heading.split()[-1] if heading.startswith("I have") else "profile"
    name = {"client": "web", "give": "talk"}.get(name, name)
    with Shell(files, **environment) as shell:
        for line in lines:
            line = re.sub(r"(?<=[: ])(?:5432|643[2-4]|8000|808[01]|8888)\b", free, line)
            try:
                code = shell.start(line) or 0 if line.rstrip().endswith("&") else shell.type(line)
            except programs.Failure as failure:
                return verdict(name, False, f"{line}: {failure}")
            if code:
                return verdict(name, False, f"exit code {code}: {line}\n{shell.output[-1_500:]}")
        goal, reached = GOALS[heading]
        holds = reached(shell)
        verdict(name, holds, goal + ("" if holds else f"\n{shell.output[-1_500:]}"))
    if heading.startswith("I have"):
        verdict(name, BEFORE + len(lines) <= MOST, f"{BEFORE + len(lines)} commands")


def late(*_):
    raise programs.Failure(f"no end after {LONGEST} s")


def main():
    programs.need_squall()
    signal.signal(signal.SIGALRM, late)
    found = sections()
    missing = GOALS.keys() - found.keys() | found.keys() - GOALS.keys()
    verdict("sections", not missing, f"{len(found)} sections have commands" + (f"; without a goal, or gone: {missing}" if missing else ""))
    wanted = [heading for heading in found if heading in GOALS
              and (len(sys.argv) < 2 or any(word.lower() in heading.lower() for word in sys.argv[1:]))]
    for heading in wanted:
        lines, files = found[heading]
        if "database" not in heading:
            run(heading, lines, files, {}, {})
            continue
        with postgres.Postgres() as server:
            run(heading, lines, files, {"PGUSER": "squall", "PGDATABASE": "postgres"}, {"5432": server.port})
    if failures:
        raise SystemExit(f"not all hold: {', '.join(failures)}")
    print("all hold")


main()
