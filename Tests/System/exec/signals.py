#!/usr/bin/env python3
"""Whether signals reach programs whose connects wait behind `squall exec` as without it.

    make exec                                     with the programs
    SQUALL=.build/release/squall python3 Tests/System/exec/signals.py

Four threads connect, as C does, to a listener that never answers. Five signals come, one after the other, whose handler restarts calls:
each must be handled within 10 s, and none may end a connect. Then the listener answers, and all must be connected.

first     signals of the process, whose first thread connects as well
blocked   signals of the process, whose first thread blocks them: any other one has them
child     SIGCHLD of children that a thread has started which then connects, and which another thread waits for

mixed     six threads connect for 5 s to ports that are open, closed and silent, beside a timer: each errno is that of the target or of
          the time limit
own       six threads make 1,000 connects each to ports that are open and closed, behind squall 4 ms late, and each has a signal of
          its own every ms
refused   the same signals as in `blocked`, while four threads connect to a closed port, behind squall 500 ms late: each connect
          ends with ECONNREFUSED
stop      SIGSTOP for a process whose thread connects, and for one whose first thread connects as well: its parent is told, and the
          connects go on after SIGCONT
traced    a debugger stops a thread that connects (PTRACE_INTERRUPT, ptrace(2)), and lets it go on
frozen    the freezer stops such a process and lets it go on, where this may make a control group (cgroups(7))

Exits 1 if something doesn't hold.
"""
import collections, contextlib, ctypes, errno, json, os, random, select, signal, socket, struct, subprocess, sys, tempfile, threading, time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from kit import programs
from kit.verdicts import finish, verdict

THREADS, SIGNALS, PATIENCE = 4, 5, 10
LIBRARY = ctypes.CDLL(None, use_errno=True)


@contextlib.contextmanager
def silence():
    """A listener that never answers, because its queue is full."""
    with socket.socket() as listener, socket.socket() as filler:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        filler.connect(listener.getsockname())
        yield listener


def answer(listener):
    """Has it answer from now on."""
    kept = []

    def accept():
        with contextlib.suppress(OSError):
            while True:
                kept.append(listener.accept())

    threading.Thread(target=accept, daemon=True).start()


def connect(address, found):
    """Connects as C does, where the library retries nothing, and notes the end."""
    with socket.socket() as made:
        place = struct.pack("<H", socket.AF_INET) + struct.pack(">H", address[1]) + socket.inet_aton(address[0]) + bytes(8)
        failed = LIBRARY.connect(made.fileno(), place, len(place))
        code = ctypes.get_errno()
        found.append(errno.errorcode.get(code, f"errno {code}") if failed else "connected")


def threads(count, body, *arguments):
    made = [threading.Thread(target=body, args=arguments, daemon=True) for _ in range(count)]
    for thread in made:
        thread.start()
    return made


def signalled(way):
    """How many of the signals are handled, and how the connects end."""
    number = signal.SIGCHLD if way == "child" else signal.SIGUSR1
    heard, told = os.pipe()
    os.set_blocking(told, False)
    signal.signal(number, lambda *_: None)
    signal.siginterrupt(number, False)
    # Written by the thread that has the signal.
    signal.set_wakeup_fd(told)
    go, goer = os.pipe()
    found, handled = [], []

    def parent(address):
        for _ in range(SIGNALS):
            if os.fork() == 0:
                os.read(go, 1)
                os._exit(0)
        connect(address, found)

    def direct(listener):
        signal.pthread_sigmask(signal.SIG_BLOCK, {number})
        time.sleep(0.5)
        for _ in range(SIGNALS):
            if way == "child":
                os.write(goer, b"!")
                os.wait()
            else:
                os.kill(os.getpid(), number)
            if select.select([heard], [], [], PATIENCE)[0]:
                handled.append(os.read(heard, 100))
        answer(listener)

    with silence() as listener:
        address = listener.getsockname()
        waiting = threads(THREADS - 1, connect, address, found) + threads(1, *((parent, address) if way == "child" else (connect, address, found)))
        if way == "blocked":
            signal.pthread_sigmask(signal.SIG_BLOCK, {number})
        waiting += threads(1, direct, listener)
        if way == "first":
            connect(address, found)
        for thread in waiting:
            thread.join(PATIENCE * SIGNALS)
        return {"handled": len(handled), **collections.Counter(found)}


def mixed():
    found = collections.Counter()
    signal.signal(signal.SIGALRM, lambda *_: None)
    signal.siginterrupt(signal.SIGALRM, False)
    with silence() as silent, socket.create_server(("127.0.0.1", 0), backlog=512) as opened, socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        answer(opened)
        targets = {"open": opened.getsockname(), "closed": closed.getsockname(), "silent": silent.getsockname()}
        end = time.monotonic() + 5

        def work():
            while time.monotonic() < end:
                name, target = random.choice(list(targets.items()))
                with socket.socket() as made:
                    made.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", 0, 60_000))
                    code = made.connect_ex(target)
                found[f"{name} {errno.errorcode.get(code, code)}"] += 1

        working = threads(6, work)
        signal.setitimer(signal.ITIMER_REAL, 0.013, 0.013)
        for thread in working:
            thread.join()
        signal.setitimer(signal.ITIMER_REAL, 0)
    # A busy machine may take longer than the time limit.
    return sorted(set(found) - {"open EINPROGRESS", "closed EINPROGRESS"})


def own():
    found = []
    signal.signal(signal.SIGUSR1, lambda *_: None)
    signal.siginterrupt(signal.SIGUSR1, False)
    with socket.create_server(("127.0.0.1", 0), backlog=512) as opened, socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        targets = {"open": opened.getsockname(), "closed": closed.getsockname()}
        done, over = [], threading.Event()

        def serve():
            while True:
                opened.accept()[0].close()

        def work():
            for _ in range(1_000):
                name, target = random.choice(list(targets.items()))
                ends = []
                connect(target, ends)
                found.append(f"{name} {ends[0]}")
            done.append(True)
            # A thread that has ended can't have a signal.
            over.wait()

        threads(1, serve)
        working = threads(6, work)
        while len(done) < len(working):
            for thread in working:
                signal.pthread_kill(thread.ident, signal.SIGUSR1)
            time.sleep(0.001)
        over.set()
        return sorted(set(found))


def refused():
    found = []
    signal.signal(signal.SIGUSR1, lambda *_: None)
    signal.siginterrupt(signal.SIGUSR1, False)
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        waiting = threads(THREADS, connect, closed.getsockname(), found)
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
        for _ in range(SIGNALS):
            time.sleep(0.05)
            os.kill(os.getpid(), signal.SIGUSR1)
        for thread in waiting:
            thread.join(PATIENCE)
        return collections.Counter(found)


def holds_soon(condition):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.01)
    return False


def stopped(by, also_first=False):
    """Whether a process is stopped whose threads connect, and how its connects end after that. `by` yields whether it is stopped."""
    with silence() as listener:
        reader, writer = os.pipe()
        process = os.fork()
        if process == 0:
            found = []
            waiting = threads(1, connect, listener.getsockname(), found)
            os.write(writer, struct.pack("i", waiting[0].native_id))
            if also_first:
                connect(listener.getsockname(), found)
            waiting[0].join()
            os.write(writer, " ".join(found).encode())
            os._exit(0)
        thread = struct.unpack("i", os.read(reader, 4))[0]
        time.sleep(0.5)
        try:
            with by(process, thread) as is_stopped:
                pass
            answer(listener)
            ends = os.read(reader, 100).decode() if select.select([reader], [], [], PATIENCE)[0] else "nothing"
        finally:
            os.kill(process, signal.SIGKILL)
        return [is_stopped, ends]


@contextlib.contextmanager
def stop(process, _):
    os.kill(process, signal.SIGSTOP)
    yield holds_soon(lambda: os.waitpid(process, os.WNOHANG | os.WUNTRACED)[0] == process)
    os.kill(process, signal.SIGCONT)


@contextlib.contextmanager
def trace(_, thread):
    seize, interrupt, detach, any_thread = 0x4206, 0x4207, 17, 0x40000000
    for request in (seize, interrupt):
        if LIBRARY.ptrace(request, thread, None, None):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    yield holds_soon(lambda: os.waitpid(thread, os.WNOHANG | any_thread)[0] == thread)
    LIBRARY.ptrace(detach, thread, None, None)


def control_group():
    """The path of this process's control group of version 2."""
    with open("/proc/mounts") as mounts, open("/proc/self/cgroup") as groups:
        mount = next(line.split()[1] for line in mounts if line.split()[2] == "cgroup2")
        return mount + next(line.rstrip()[len("0::"):] for line in groups if line.startswith("0::"))


def write(group, name, text):
    with open(os.path.join(group, name), "w") as file:
        file.write(text)


@contextlib.contextmanager
def inner_group():
    """A control group below that one, in which no process may be at the end."""
    group = os.path.join(control_group(), f"squall-signals-{os.getpid()}")
    os.mkdir(group)
    try:
        yield group
    finally:
        os.rmdir(group)


@contextlib.contextmanager
def freeze(process, _):
    def is_frozen():
        with open(os.path.join(group, "cgroup.events")) as file:
            return "frozen 1" in file.read()

    with inner_group() as group:
        write(group, "cgroup.procs", str(process))
        write(group, "cgroup.freeze", "1")
        yield holds_soon(is_frozen)
        write(group, "cgroup.freeze", "0")
        write(os.path.dirname(group), "cgroup.procs", str(process))


def may_freeze():
    try:
        with inner_group() as group:
            return os.access(os.path.join(group, "cgroup.freeze"), os.W_OK)
    except (OSError, StopIteration) as error:
        print(f"     frozen     left out: no control group can be made ({error})")
        return False


def inner(way):
    ways = {
        "mixed": mixed, "own": own, "refused": refused, "stop": lambda: stopped(stop), "stop-first": lambda: stopped(stop, also_first=True),
        "traced": lambda: stopped(trace), "frozen": lambda: stopped(freeze),
    }
    result = ways[way]() if way in ways else signalled(way)
    print(json.dumps(result), flush=True)
    # Threads whose connects wait still are left.
    os._exit(0)


EXPECTED = {
    "first": {"handled": SIGNALS, "connected": THREADS + 1},
    "blocked": {"handled": SIGNALS, "connected": THREADS},
    "child": {"handled": SIGNALS, "connected": THREADS},
    "mixed": ["closed ECONNREFUSED", "open 0", "silent EINPROGRESS"],
    "own": ["closed ECONNREFUSED", "open connected"],
    "refused": {"ECONNREFUSED": THREADS},
    "stop": [True, "connected"],
    "stop-first": [True, "connected connected"],
    "traced": [True, "connected"],
    "frozen": [True, "connected"],
}
# How late connects are behind squall.
LATE = {"own": "4 ms", "refused": "500 ms"}


def main():
    if sys.argv[1:2] == ["inner"]:
        return inner(sys.argv[2])
    programs.need_squall()
    with tempfile.TemporaryDirectory() as folder:
        for way, expected in EXPECTED.items():
            if way == "frozen" and not may_freeze():
                continue
            options = ["--latency", "0ms"]
            if way in LATE:
                options = [os.path.join(folder, "late.json")]
                with open(options[0], "w") as late:
                    json.dump({"name": "late", "faults": [{"kind": "connect", "how": "delay", "for": LATE[way]}]}, late)
            for name, front in (("plain", []), ("squall exec", [programs.SQUALL, "exec", *options, "--"])):
                command = [*front, sys.executable, os.path.abspath(__file__), "inner", way]
                done = subprocess.run(command, capture_output=True, text=True, timeout=300)
                holds = done.stdout.strip() == json.dumps(expected)
                verdict(way, holds, f"{name}: {done.stdout.strip()}{done.stderr.strip()[-300:]}")
    finish()


main()
