#!/usr/bin/env python3
"""Puts bugs into a copy of the engine, one after the other, and runs simulated worlds until a seed fails.

A bug that none of the first 10,000 seeds finds is a hole in the simulation; the script ends with the exit code 1 then.
`planted.py NAME...` plants those alone, and `planted.py --check` only looks whether each can be planted. Nothing of the
checkout is changed.
"""
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SEEDS = 10_000
SOURCES = Path(__file__).resolve().parent.parent

# Name, file, the text to replace, and what takes its place. The text must be there, and once.
BUGS = [
    ("a short splice is taken for a full socket", "Sources/EventLoop/Sockets/StreamSocket.swift",
     "return count > 0 ? .sent(count) : sent(count, of: length)", "return sent(count, of: length)"),
    ("a wake-up behind a blocked sink is lost", "Sources/EventLoop/Sockets/StreamSocket.swift",
     "if what & EV_WRITE != 0 { writable = true }",
     "if what & EV_WRITE != 0, what & EV_READ == 0 { writable = true }"),
    ("a descriptor is closed twice", "Sources/EventLoop/Sockets/DetachedSocket.swift",
     "        let descriptor = take()\n        guard descriptor >= 0 else { return }\n        system.setLingerZero",
     "        let descriptor = descriptor.load(ordering: .acquiring)\n        guard descriptor >= 0 else { return }\n"
     "        system.setLingerZero"),
    ("a timer is forgotten when the last socket is let go", "Sources/ProxyEngine/Connection/Connection+Draining.swift",
     "            setTimer(to: nextLook)\n            return nil", "            return nil"),
    ("a queue isn't given back when its connection ends", "Sources/ProxyEngine/Connection/LinkPump.swift",
     "        pipe.removeAll(of: loop)\n        queue.removeAll(of: loop)\n        link.close()",
     "        pipe.removeAll(of: loop)\n        link.close()"),
    ("a pipe isn't given back when its connection ends", "Sources/ProxyEngine/Connection/LinkPump.swift",
     "        pipe.removeAll(of: loop)\n        queue.removeAll(of: loop)\n        link.close()",
     "        queue.removeAll(of: loop)\n        link.close()"),
    ("a turn has no end", "Sources/EventLoop/Sockets/StreamSocket.swift",
     "        case EAGAIN:\n            readable = false\n            // An error",
     "        case EAGAIN:\n            // An error"),
    ("bytes that were sent are kept as well", "Sources/ProxyEngine/Connection/LinkPump.swift",
     "queue.appendScratch(from: sent, length: chunk.count - sent, of: sink.loop)",
     "queue.appendScratch(from: 0, length: chunk.count - sent, of: sink.loop)"),
    ("a reset doesn't wait for the receiver", "Sources/FaultPlan/Connection/Linger.swift",
     "return remaining == 0 ? .done : .wait", "return .done"),
    ("an interrupted call isn't made again", "Sources/EventLoop/System/SystemCalls.swift",
     "if result >= 0 || errno != EINTR { return result }",
     "if result < 0, errno == EINTR { errno = EAGAIN }\n            return result"),
    ("a listener without descriptors never accepts again", "Sources/ProxyEngine/Listening/Listener.swift",
     "            if !isRefusing { listenAgain(sockets) }\n", ""),
    ("an end overtakes the last bytes", "Sources/FaultPlan/Link.swift",
     "isOver && delivered == endOffset ? takeEnd()", "isOver ? takeEnd()"),
    ("a sum overflows behind inserted bytes where no message is picked", "Sources/FaultPlan/StageChain+Altering.swift",
     "boundary.subtractingSaturated(marks.vanished)", "boundary - marks.vanished"),
    ("a sum overflows behind inserted bytes where an offset is large", "Sources/FaultPlan/Stages/CorruptAlterer.swift",
     "$0.position.subtractingSaturated(vanished)", "$0.position - vanished"),
]


def run(*command, cwd):
    return subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def obstacle(folder, file, old):
    """Why a bug can't be planted, if it can't."""
    count = (folder / file).read_text().count(old)
    return None if count == 1 else f"the text to replace is in {file} {count} times"


def plant(copy, name, file, old, new):
    if failure := obstacle(copy, file, old):
        return failure
    path = copy / file
    text = path.read_text()
    path.write_text(text.replace(old, new))
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
        sys.exit("\n".join(f"{name}: {failure}" for name, file, old, _ in BUGS
                           if (failure := obstacle(SOURCES, file, old))) or 0)
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
