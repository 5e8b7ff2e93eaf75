#!/usr/bin/env python3
"""Pastes the commands of README.md into a shell as a reader would: does each role reach its goal?

    make readme                               about a minute
    python3 Tests/System/readme/roles.py talk        some of the sections, by a word of their heading
    python3 Tests/System/readme/roles.py --busy 4 --times 20   on a machine with four busy loops, 20 times each

Each block of `sh` of a section is pasted as a whole into one bash, in a new folder, and nothing waits for its programs but the
block itself. A goal is what a section promises; it is checked after its blocks. The ports of the README are replaced by
free ones. The user's own PostgreSQL is stood in for by one that the script starts. SQUALL is the command, by default
.build/release/squall. Exits 1 if a block fails, a goal isn't reached, or a role needs ten commands.
"""
import argparse, contextlib, json, os, re, subprocess, sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from kit import postgres, programs
from kit.shell import Shell
from kit.verdicts import failures, finish, verdict

IS_BUSY = False
# A clone, `make build` and the PATH come first.
BEFORE, MOST = 3, 9


def sections():
    """Each section's blocks of `sh`, by its heading, and the files that it shows."""
    with open(os.path.join(programs.ROOT, "README.md"), encoding="utf-8") as file:
        text = file.read()
    found = {}
    for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        heading = part.splitlines()[0]
        blocks = [block for block in re.findall(r"^```sh\n(.*?)^```", part, re.MULTILINE | re.DOTALL) if not block.startswith("make ")]
        files = re.findall(r"^`([^`\n]+)`:\n\n```json\n(.*?)^```", part, re.MULTILINE | re.DOTALL)
        if blocks:
            found[heading] = (blocks, files)
    return found


def commands(blocks):
    """The number of lines that a reader would type."""
    return sum(bool(line.strip()) for line in "".join(blocks).replace("\\\n", " ").splitlines())


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
    return told is not None and int(told[1]) > 1 and float(told[2]) < (25 if IS_BUSY else 5)


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
    global IS_BUSY
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", help="words of the headings that are meant; all without one")
    parser.add_argument("--times", type=int, default=1, help="how often each section is pasted")
    parser.add_argument("--busy", type=int, default=0, help="busy loops beside it")
    options = parser.parse_args()
    programs.need_squall()
    IS_BUSY = options.busy > 0
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
    finish()


main()
