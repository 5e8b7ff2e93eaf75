#!/usr/bin/env python3
"""Runs every block of commands in the pages: does each command do what the page says?

    make readme                                    with the roles of the README
    python3 Tests/System/readme/pages.py recipes   some of the pages, by a word of their path

A block of commands is fenced as `sh`, or as `console` with a `$` before each command and what the commands print. The blocks of a
page are pasted into one bash, in order, with the files that the page shows; ports are replaced by free ones. What a reader has,
such as a server to test, is stood in for by PAGES below. Three kinds of blocks aren't run:

- one whose first line says `# needs …`: what this machine lacks. They are counted;
- one with nothing but targets of make and scripts of this repository, which run by themselves: those have to exist;
- the README's, which roles.py runs, but for its `console` blocks.

Each page of a fault has a profile as its example: it runs between clients and a server until the journal says one of the words
that the page names. SQUALL is the command. Exits 1 if something doesn't hold.
"""
import argparse, collections, concurrent.futures, contextlib, functools, json, os, re, signal, subprocess, sys, tempfile, time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from kit import postgres, programs, redis, web
from kit.shell import Shell
from kit.verdicts import failures, finish, verdict

COMMAND = re.compile(r"\s*(\$ )?(sudo |[A-Z_]+=\S+ )*(squall(?!:)|make|curl|docker|python3|kcat|redis-cli|psql|export|source|mkdir|\.ci/run)\b")
DRY = re.compile(r"(sudo )?([A-Z_]+=\S+ )*(make|\.ci/run|python3 (Benchmarks|Tests/System)/\S+)( |$)")
PORTS = re.compile(r"(?<=[: \"=])(80|5432|5433|6379|643[2-4]|700[1-3]|800[0-2]|808[0-3]|8443|8474|8888|1700[1-3]|19093)\b(?!\.)")
AT_ONCE = 4
counts = collections.Counter()


class Block:
    """A block of commands: its language, its lines, and the line of the page at which it begins."""

    def __init__(self, line, language, lines):
        self.line, self.language, self.lines = line, language, lines
        self.first = next((line for line in lines if line.strip()), "")

    @property
    def needs(self):
        found = re.match(r"# needs (\w+(?: \w+)?)", self.first)
        return found and found[1]

    @property
    def is_dry(self):
        lines = [line for line in self.lines if line.strip() and not line.startswith(("#", "export "))]
        return all(DRY.match(line) for line in lines) and bool(lines)

    def commands(self):
        """The commands, each with the lines that it is said to print."""
        if self.language == "sh":
            return [("\n".join(self.lines), [])]
        found = []
        for line in self.lines:
            if line.startswith("$ "):
                found.append((line[2:], []))
            elif found:
                found[-1][1].append(line)
        return found


def blocks(page, text):
    """The blocks of commands of a page, and the files that it shows."""
    found, files, fence, before = [], [], None, ""
    for number, line in enumerate(text.splitlines(), 1):
        mark = re.match(r"\s*```(\w*)$", line)
        if mark and fence is None:
            fence, start, lines = mark[1], number, []
        elif mark:
            if fence in ("sh", "console"):
                found.append(Block(start, fence, lines))
            elif name := "Makefile" if fence == "make" else shown_name(before, fence, lines):
                files.append((name, "\n".join(lines) + "\n"))
            fence, before = None, ""
        elif fence is not None:
            lines.append(line)
        else:
            if line.startswith("    ") and COMMAND.match(line):
                verdict(page, False, f"line {number}: commands that aren't fenced as sh or console: {line.strip()}")
            before = line if not before.strip() else before + "\n" + line if line.strip() else before + "\n"
            if before.endswith("\n") and line.strip():
                before = line
    return found, files


def shown_name(before, language, lines):
    """The name of a file that a page shows: the last one of the sentence before it, or that of its profile."""
    paragraph = before.strip().split("\n\n")[-1]
    if paragraph.endswith(":") and (names := re.findall(r"`([\w./-]+\.\w+|Makefile)`", paragraph)):
        return names[-1]
    if language == "json":
        with contextlib.suppress(ValueError, KeyError, TypeError):
            return json.loads("\n".join(lines))["name"].replace("/", "-") + ".json"
    return None


class Handler(web.Handler):
    """A server that has 300 KB at each path, and 300 MB at `/…/large.bin`."""
    content = b"<html><body>Hello</body>" + bytes(300_000)

    def do_GET(self):
        count = 1_000 if self.path.endswith("large.bin") else 1
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.content) * count))
        self.end_headers()
        with contextlib.suppress(OSError):
            for _ in range(count):
                self.wfile.write(self.content)


class Page:
    """What a reader has: a server at some ports, PostgreSQL or Redis, programs, and what was done before."""

    def __init__(self, servers=(), databases=(), tools=(), before="", environment=()):
        self.servers, self.databases, self.tools, self.before = servers, databases, dict(tools), before
        self.environment = dict(environment)


FETCH = "#!/bin/sh\nexec curl -s -o /dev/null --max-time 20 --retry 5 --retry-all-errors http://%s/file\n"
# Debian's Python has the modules of the recipes.
DEBIAN = {"python3": '#!/bin/sh\nexec /usr/bin/python3 "$@"\n'}
PAGES = {
    "README.md": Page(before="sed -i 's/\"at\":/\"att\":/' cut-late.json"),
    "docs/capture.md": Page(before="head -c 1000000 /dev/urandom > file.bin"),
    "docs/chaos-stage.md": Page(
        servers=("5432", "6379"), before='mkdir -p tests/chaos; install -m 755 .tools/tests.sh tests.sh',
        # As long as wifi-roam has phases.
        tools={"tests.sh": '#!/bin/sh\nfor i in 1 2 3 4 5 6; do curl -s -m 5 -o /dev/null "http://$1/file"; sleep 2; done\n',
               "npm": FETCH % "127.0.0.1:$SERVER_PORT",
               "pytest": '#!/bin/sh\nfor i in 1 2 3 4 5 6; do curl -s -m 5 -o /dev/null "http://$SQUALL_DB_ADDRESS/file"; sleep 2; done\n'}),
    "docs/command.md": Page(before="head -c 100000 /dev/urandom > file.bin"),
    "docs/control.md": Page(
        servers=("5432",), before="(while :; do curl -s -m 1 -o /dev/null http://127.0.0.1:5433/file; done) &"),
    "docs/exec.md": Page(
        servers=("80",), before="install -m 755 .tools/app app",
        tools={name: FETCH % "127.0.0.1:$SERVER_PORT" for name in ("npm", "psql", "app")}),
    "docs/faults.md": Page(servers=("80",), before="""echo '{ "name": "example", "faults": [] }' > example.json"""),
    "docs/forward-proxy.md": Page(
        servers=("8080",), before="squall run first-two-fail --forward-proxy :8888 --journal journal.jsonl; "
        "curl -s -o /dev/null -x http://127.0.0.1:8888 http://localhost:8080/file"),
    "docs/journal.md": Page(
        servers=("8080",), before="for run in first second; do squall run first-two-fail --seed 7 --listen :8081 --upstream :8080 "
        "--journal $run.jsonl; for i in 1 2 3; do curl -s -o /dev/null http://127.0.0.1:8081/file; done; done"),
    "docs/profiles.md": Page(servers=("5432",)),
    "docs/queue.md": Page(before="head -c 100000 /dev/urandom > home.tar"),
    "docs/toxiproxy.md": Page(servers=("5432",)),
    "docs/recipes/database-client.md": Page(databases=("postgres",), environment={"PGDATABASE": "shop"}, tools=DEBIAN),
    "docs/recipes/makefile.md": Page(tools={"squall": '#!/bin/sh\n[ "$1" = test ] && [ "$2" = shop.json ] && touch build/chaos.xml\n'}),
    "docs/recipes/message-queue.md": Page(databases=("redis",), tools=DEBIAN),
    "docs/recipes/mobile-app.md": Page(servers=("8080",)),
    "docs/recipes/redis-cluster.md": Page(),
    "docs/recipes/upload.md": Page(),
    "docs/recipes/kafka.md": Page(),
}


def with_ports(given, fixed):
    """Replaces ports by free ones, each always by the same."""
    def free(match):
        if match[0] not in given:
            given[match[0]] = fixed.get(match[0]) or programs.free_port()
        return str(given[match[0]])
    return lambda text: PORTS.sub(free, text)


def plain(line):
    """A line without what differs from run to run."""
    return re.sub(r"(/tmp|/var)/[\w./-]+", "PATH", re.sub(r"\d+", "N", line)).strip()


def run(page, text):
    setup = PAGES.get(page, Page())
    found, files = blocks(page, text)
    wanted = []
    for block in found:
        if block.needs:
            counts[f"need {block.needs}"] += 1
        elif block.is_dry and not any(name == "Makefile" for name, _ in files):
            counts["are targets and scripts of the repository"] += 1
            check_dry(page, block)
        elif page != "README.md" or block.language == "console":
            wanted.append(block)
    if not wanted:
        return
    with contextlib.ExitStack() as stack:
        fixed = {port: stack.enter_context(web.served(Handler)) for port in setup.servers}
        home = stack.enter_context(tempfile.TemporaryDirectory(prefix="squall-home-"))
        environment = {**setup.environment, "SERVER_PORT": str(next(iter(fixed.values()), 0)), "HOME": home, "XDG_STATE_HOME": home}
        if "postgres" in setup.databases:
            database = stack.enter_context(postgres.Postgres())
            fixed["5432"] = database.port
            for words in (["-c", "CREATE ROLE shop LOGIN"], ["-c", "CREATE DATABASE shop OWNER shop"]):
                subprocess.run(["psql", "-q", "-h", "127.0.0.1", "-p", str(database.port), "-U", "squall", "-d", "postgres", *words], check=True)
        if "redis" in setup.databases:
            fixed["6379"] = stack.enter_context(redis.Redis()).port
        ports = with_ports({}, fixed)
        environment["SERVE_PORT"] = ports(" 8474").strip()
        shell = stack.enter_context(Shell([(name, ports(content)) for name, content in files], setup.tools.items(), **environment))
        # A shell that people type into has aliases. A failed command of a block is told.
        shell.paste("shopt -s expand_aliases; trap 'echo \"== failed: $BASH_COMMAND\"' ERR")
        shell.paste(ports(setup.before))
        shell.output = shell.output.replace("== failed:", "before:")
        for block in wanted:
            problem = None
            for command, said in block.commands():
                command = ports(command).replace("/tmp/", shell.folder + "/")
                begin = len(shell.output)
                try:
                    code = shell.paste(command)
                except programs.Failure as failure:
                    problem = str(failure)
                    break
                output = shell.output[begin:]
                fails = page == "README.md"  # Its console shows a mistake.
                if not fails and (code or "== failed:" in output):
                    problem = f"exit code {code}"
                elif said and (missing := [line for line in said if plain(line) not in map(plain, output.splitlines())]):
                    problem = f"it doesn't say: {missing[0]}"
                if problem:
                    problem += f": {command}\n{output[-1_500:]}"
                    break
            counts["run"] += 1
            verdict(page, not problem, f"line {block.line}" + (f": {problem}" if problem else ""))


@functools.lru_cache
def usage(script):
    return subprocess.run([sys.executable, os.path.join(programs.ROOT, script), "--help"], stdout=subprocess.PIPE, text=True).stdout


def check_dry(page, block):
    """The targets are in the Makefile, and the scripts have their options."""
    with open(os.path.join(programs.ROOT, "Makefile"), encoding="utf-8") as file:
        targets = set(re.findall(r"^([a-z-]+):", file.read(), re.MULTILINE))
    wrong = []
    for line in block.lines:
        line = re.sub(r"\s+#.*", "", line)
        if found := re.search(r"\bmake ((?:[A-Z]+=\S+ )*)([a-z-]+)", line):
            wrong += [line] if found[2] not in targets else []
        elif found := re.search(r"python3 ((?:Benchmarks|Tests/System)/\S+)(.*?)( [>&]|$)", line):
            options = re.findall(r"(?<= )--[a-z-]+", found[2])
            wrong += [line] if any(option not in usage(found[1]) for option in options) or not usage(found[1]) else []
    verdict(page, not wrong, f"line {block.line}, not run" + (f": {wrong}" if wrong else ""))


def check_fault(page, text):
    """Runs the profile of a page until the journal has one of the page's words."""
    profile = re.search(r"```json\n(.*?)```", text, re.DOTALL)[1]
    words = re.findall(r"`([^`]+)`", text[text.index("**Journal:**"):].split("\n##")[0])
    with tempfile.TemporaryDirectory() as folder, web.served(Handler) as port:
        os.symlink(os.path.join(programs.ROOT, "Profiles/traces"), os.path.join(folder, "traces"))
        path, journal = os.path.join(folder, "example.json"), os.path.join(folder, "journal.jsonl")
        with open(path, "w", encoding="utf-8") as file:
            file.write(profile)
        layer, scheme = ("tls:", "https") if '"kind": "tls"' in profile else ("", "http")
        proxy = programs.start([programs.SQUALL, "run", path, "--seed", "1", "--listen", f"{layer}127.0.0.1:0", "--upstream", f"127.0.0.1:{port}",
                                "--journal", journal], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        clients = []
        try:
            listens, end, found = programs.ready_port(proxy), time.monotonic() + 60, []
            while not found and time.monotonic() < end:
                clients = [client for client in clients if client.poll() is None]
                while len(clients) < 16:
                    # As slow as a download of some length, so that all are open at the same time on a fast machine too.
                    clients.append(programs.start(["curl", "-s", "-m", "10", "--limit-rate", "40M", "-k", "-o", "/dev/null",
                                                   f"{scheme}://127.0.0.1:{listens}/{'api' if len(clients) % 2 else 'files'}/large.bin"]))
                time.sleep(0.1)
                with open(journal, encoding="utf-8") as file:
                    found = [entry for line in file if line.endswith("}\n") and (entry := json.loads(line)).get("what") in words]
        finally:
            for process in (proxy, *clients):
                programs.end(process)
        counts["run"] += 1
        verdict(page, bool(found), f"the example {found[0]['what']}" if found else f"the journal has none of {words}")


class Checks:
    """Pages that are checked at the same time, each by this program once more, because a page mostly waits."""

    def __init__(self):
        self.processes, self.is_over = [], False
        signal.signal(signal.SIGTERM, self.end)

    def end(self, *_):
        self.is_over = True
        for process in self.processes:
            process.terminate()
        sys.exit(1)

    def check(self, page):
        """What was counted on a page, and what doesn't hold."""
        if self.is_over:
            return {}, [page]
        process = subprocess.Popen([sys.executable, os.path.abspath(__file__), "--page", page], stdout=subprocess.PIPE, text=True)
        self.processes.append(process)
        *lines, told = process.communicate()[0].splitlines() or [""]
        for line in lines:
            print(line, flush=True)
        try:
            return json.loads(told)
        except ValueError:
            return {}, [page]


def check_page(page):
    with open(os.path.join(programs.ROOT, page), encoding="utf-8") as file:
        text = file.read()
    run(page, text)
    if page.startswith("docs/faults/"):
        check_fault(page, text)
    print(json.dumps([counts, failures]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", help="words of the paths that are meant; all without one")
    parser.add_argument("--page", help=argparse.SUPPRESS)
    options = parser.parse_args()
    programs.need_squall()
    if options.page:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # So that what was started is ended.
        return check_page(options.page)
    checks = Checks()
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"], cwd=programs.ROOT,
                            stdout=subprocess.PIPE, text=True, check=True)
    pages = [page for page in listed.stdout.split() if os.path.exists(os.path.join(programs.ROOT, page))]
    missing = PAGES.keys() - set(pages)
    verdict("pages", not missing, f"{len(pages)} pages" + (f"; gone: {missing}" if missing else ""))
    wanted = [page for page in pages if not options.words or any(word in page for word in options.words)]
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        for count, failed in pool.map(checks.check, wanted):
            counts.update(count)
            failures.extend(failed)
    print(", ".join(f"{count} {what}" for what, count in counts.most_common()))
    finish()


if __name__ == "__main__":
    main()
