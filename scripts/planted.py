#!/usr/bin/env python3
"""Puts bugs into a copy of the engine, one after the other, and runs simulated worlds until a seed fails.

A bug that none of the first 10,000 seeds finds is a hole in the simulation; the script ends with the exit code 1 then.
`planted.py NAME...` plants those alone, and `planted.py --check` only looks whether each can be planted. Nothing of the
checkout is changed.

A bug has its place by the type and the function that have it, wherever the file is, and by the tokens of a statement in that
function, however they are laid out.
"""
import collections
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SEEDS = 10_000
SOURCES = Path(__file__).resolve().parent.parent
MODULES = ("EventLoop", "FaultPlan", "ProxyEngine")

# Name, function, the tokens to replace, and what takes their place.
BUGS = [
    ("a short splice is taken for a full socket", "StreamSocket.send(from:length:)",
     "return count > 0 ? .sent(count) : sent(count, of: length)", "return sent(count, of: length)"),
    ("a wake-up behind a blocked sink is lost", "StreamSocket.fire(_:)",
     "if what & EV_WRITE != 0 {", "if what & EV_WRITE != 0, what & EV_READ == 0 {"),
    ("a descriptor is closed twice", "DetachedSocket.reset()",
     "let descriptor = take()", "let descriptor = descriptor.load(ordering: .acquiring)"),
    ("a timer is forgotten when the last socket is let go", "Connection.keepLingering(_:)", "setTimer(to: nextLook)", ""),
    ("a queue isn't given back when its connection ends", "LinkPump.close(_:)", "queue.removeAll(of: loop)", ""),
    ("a pipe isn't given back when its connection ends", "LinkPump.close(_:)", "pipe.removeAll(of: loop)", ""),
    ("a turn has no end", "StreamSocket.nothingReceived(_:)", "readable = false", ""),
    ("bytes that were sent are kept as well", "LinkPump.pass(_:available:to:now:)",
     "queue.appendScratch(from: sent,", "queue.appendScratch(from: 0,"),
    ("a reset doesn't wait for the receiver", "Linger.verdict(remaining:at:)",
     "return remaining == 0 ? .done : .wait", "return .done"),
    ("an interrupted call isn't made again", "SystemCalls.retried(_:)",
     "if result >= 0 || errno != EINTR { return result }",
     "if result < 0, errno == EINTR { errno = EAGAIN }\nreturn result"),
    ("a listener without descriptors never accepts again", "Listener.timerFired(_:)",
     "if !isRefusing { listenAgain(sockets) }", ""),
    ("an end overtakes the last bytes", "Link.decide(available:now:)", "isOver && delivered == endOffset ?", "isOver ?"),
    ("a sum overflows behind inserted bytes where no message is picked", "StageChain.nextAlteration(of:behind:now:_:)",
     "boundary.subtractingSaturated(marks.vanished)", "boundary - marks.vanished"),
    ("a sum overflows behind inserted bytes where an offset is large", "CorruptAlterer.next(vanished:)",
     "$0.position.subtractingSaturated(vanished)", "$0.position - vanished"),
    ("the beginning of a record is forgotten", "SecureSocket.nextRecords(of:behind:)",
     "keep(count - whole, at: offset + whole)", ""),
    ("an end overtakes records", "SecureSocket.flush()", "if unsent.isEmpty, ending == .finish {", "if ending == .finish {"),
    ("a handshake has no time limit", "SecureSocket.setTimer()",
     "timer.set(to: loop.now + SecureSocket.handshakeLimit, for: self, tag: Tag.timer, on: loop)", ""),
    ("records aren't given back when their socket is closed", "SecureSocket.forget()", "unread.removeAll(of: loop)", ""),
    ("what a stalled handshake holds is lost", "AcceptingSocket.transmit(_:)", "super.transmit(records.extracting(place...))", ""),
    ("faults of the content act on the wire as well", "PreparedFault.isOn(_:)", "layer == fault.kind.layer", "true"),
]

TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"""(?:.|\n)*?"""|"(?:\\.|[^"\\\n])*"|\w+|[^\w\s]', re.DOTALL)


def tokens(text):
    """The tokens of Swift without comments, each with its place."""
    return [match for match in TOKEN.finditer(text) if not match[0].startswith(("//", "/*"))]


def functions(text):
    """The functions of a file, as `Type.name(labels:)`, each with the range of its body."""
    found, stack, header = [], [], []
    for token in tokens(text):
        if token[0] == "{":
            words = [one[0] for one in header]
            name = None
            for keyword in ("struct", "class", "enum", "extension", "actor", "protocol"):
                if keyword in words[:-1] and "func" not in words:
                    name = ("type", words[words.index(keyword) + 1])
            if "func" in words or "init" in words:
                start = words.index("func") + 1 if "func" in words else words.index("init")
                name = ("function", words[start] + labels(words[start + 1:]))
            stack.append((name, token.end()))
            header = []
        elif token[0] == "}":
            if not stack:
                continue
            name, start = stack.pop()
            if name and name[0] == "function":
                types = [outer[1] for outer, _ in stack if outer and outer[0] == "type"]
                found.append((f"{types[-1] if types else ''}.{name[1]}", start, token.start()))
            header = []
        else:
            header.append(token)
            # What a declaration begins with; before it are other statements.
            if token[0] in ("func", "init") and (len(header) < 2 or header[-2][0] != "."):
                header = header[-1:]
    return found


def labels(words):
    """The labels of the parameters behind a function's name."""
    depth, names, is_first = 0, [], False
    for index, word in enumerate(words):
        if word in "([<":
            depth += 1
            is_first = is_first or (word == "(" and depth == 1)
            if word == "(" and depth == 1 and words[index + 1] != ")":
                names.append(words[index + 1])
        elif word in ")]>" and words[index - 1] != "-":
            depth -= 1
            if depth == 0 and word == ")":
                break
        elif word == "," and depth == 1:
            names.append(words[index + 1])
    return "(" + "".join(name + ":" for name in names) + ")"


def index(folder):
    """The functions of the engine, each with its places."""
    found = collections.defaultdict(list)
    for module in MODULES:
        for path in sorted((folder / "Sources" / module).rglob("*.swift")):
            for name, start, end in functions(path.read_text()):
                found[name].append((path, start, end))
    return found


def place(folder, function, old):
    """The file of a bug, and the range to replace, or why there is none."""
    wanted, hits = [token[0] for token in tokens(old)], []
    places = index(folder)[function]
    for path, start, end in places:
        body = [token for token in tokens(path.read_text()) if start <= token.start() < end]
        words = [token[0] for token in body]
        hits += [(path, body[at].start(), body[at + len(wanted) - 1].end()) for at in range(len(words) - len(wanted) + 1)
                 if words[at:at + len(wanted)] == wanted]
    if not places:
        return None, f"there is no function {function}"
    return (hits[0], None) if len(hits) == 1 else (None, f"{function} has “{old}” {len(hits)} times")


def run(*command, cwd):
    return subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def plant(copy, name, function, old, new):
    found, failure = place(copy, function, old)
    if failure:
        return failure
    path, start, end = found
    text = path.read_text()
    path.write_text(text[:start] + new + text[end:])
    try:
        build = run("swift", "build", "-c", "release", "--product", "simulate", cwd=copy)
        if build.returncode != 0:
            return "it doesn't compile: " + " ".join(re.findall(r"error: .*", build.stdout)[:2])
        simulation = run(copy / ".build/release/simulate", "--seeds", str(SEEDS), cwd=copy)
    finally:
        path.write_text(text)
    seed = re.search(r"^seed (\d+): (.*)$", simulation.stdout, re.M)
    if simulation.returncode == 0:
        return f"none of {SEEDS:,} seeds finds it"
    print(f"found: {name}: " + (f"seed {seed[1]}, {seed[2][:100]}" if seed else f"the process ended ({simulation.returncode})"))
    return None


def main():
    if sys.argv[1:] == ["--check"]:
        sys.exit("\n".join(f"{name}: {failure}" for name, function, old, _ in BUGS
                           if (failure := place(SOURCES, function, old)[1])) or 0)
    wanted = sys.argv[1:]
    bugs = [bug for bug in BUGS if not wanted or bug[0] in wanted]
    if not bugs:
        sys.exit("planted.py: there is no such bug; the names are:\n" + "\n".join(bug[0] for bug in BUGS))
    missed = []
    with tempfile.TemporaryDirectory(prefix="squall-planted.") as folder:
        copy = Path(folder) / "squall"
        shutil.copytree(SOURCES, copy, ignore=shutil.ignore_patterns(".build*", ".git"), symlinks=True)
        for bug in bugs:
            failure = plant(copy, *bug)
            if failure:
                missed.append(bug[0])
                print(f"missed: {bug[0]}: {failure}")
            sys.stdout.flush()
    print(f"{len(bugs) - len(missed)} of {len(bugs)} bugs found within {SEEDS:,} seeds each")
    sys.exit(1 if missed else 0)


main()
