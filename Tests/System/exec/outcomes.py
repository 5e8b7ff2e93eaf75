#!/usr/bin/env python3
"""Whether connects end behind `squall exec` as without it, 64 threads at a time.

    make exec                                     with the programs
    SQUALL=.build/release/squall python3 Tests/System/exec/outcomes.py

1,000 connects that block and 1,000 that are polled go to an open port, a closed one and one that never answers, through no fault.
Those that block must end as without Squall, each of them. Of those that are polled none may look connected that isn't, and each
refused one must say ECONNREFUSED. Then 100 of each wait for a connect delay of 100 ms: the median has to be from 100 to 103 ms. A
polled connect is refused as well if the process's first thread, which has begun it, ends meanwhile, and if its thread computes
between two calls of connect(2). Where loopback delays packets (tc-tbf(8)) connects take longer, and none fails; that takes root. 2,000 connects that are closed
or dissolved while their outcome comes must leave nothing to the next one from the same address. A library that connects when it is
loaded into any program, also into squall's own, changes nothing. A connect in another network namespace fails, and a line says so. Where this runs as root, squall runs as `nobody`, but for the last. Exits 1 if something
doesn't hold.
"""
import collections, contextlib, ctypes, errno, json, os, select, shutil, socket, statistics, struct, subprocess, sys, tempfile, threading, time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from kit import network, programs
from kit.verdicts import finish, verdict

# Connects when it is loaded.
LIBRARY = """
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
__attribute__((constructor)) static void begin(void) {
    struct sockaddr_un address = {AF_UNIX, "/nowhere"};
    int made = socket(AF_UNIX, SOCK_STREAM, 0);
    connect(made, (void *)&address, sizeof address);
    close(made);
}
"""
THREADS, EACH, PATIENCE, LONGEST = 64, 1_000, 0.4, 5
TARGETS = ("open", "closed", "silent")


@contextlib.contextmanager
def targets():
    """The addresses: one that accepts, one at which nobody listens, and one whose queue is full."""
    accepting, closed, silent, filler = (socket.socket() for _ in range(4))
    with accepting, closed, silent, filler:
        for made in (accepting, closed, silent):
            made.bind(("127.0.0.1", 0))
        accepting.listen(4_096)
        silent.listen(0)
        filler.connect(silent.getsockname())
        threading.Thread(target=accept, args=(accepting,), daemon=True).start()
        yield [made.getsockname() for made in (accepting, closed, silent)]


def accept(listener):
    kept = []
    with contextlib.suppress(OSError):
        while True:
            link, _ = listener.accept()
            link.sendall(b"x")
            kept.append(link)


def connect(target, way, patience):
    """How one connect ends, and the seconds that it takes."""
    with socket.socket() as made:
        began = time.perf_counter()
        if way == "blocks":
            made.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", int(patience), round(patience % 1 * 1e6)))
            code = made.connect_ex(target)
        else:
            made.setblocking(False)
            code = made.connect_ex(target)
            if code == errno.EINPROGRESS:
                poll = select.poll()
                poll.register(made, select.POLLOUT)
                if not poll.poll(patience * 1e3):
                    return "silence", patience
                code = made.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        took = time.perf_counter() - began
        if code:
            return errno.errorcode[code], took
        made.setblocking(True)
        made.settimeout(30)
        try:
            return ("connected" if made.recv(1) == b"x" and made.getpeername() == target else "wrong"), took
        except OSError as error:
            return f"connected, then {errno.errorcode.get(error.errno, error)}", took


def measure(addresses, way, count, width):
    found, lock = [], threading.Lock()

    def work(first):
        for number in range(first, count, width):
            name = TARGETS[number % len(addresses)]
            outcome, took = connect(addresses[number % len(addresses)], way, PATIENCE if len(addresses) > 1 else LONGEST)
            with lock:
                found.append((name, outcome, took))

    workers = [threading.Thread(target=work, args=(first,)) for first in range(width)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return found


def inner(way, count, width, names):
    with targets() as addresses:
        print(json.dumps(measure(addresses[:int(names)], way, int(count), int(width))))


def orphan():
    """A connect that the first thread begins, and another one waits for."""
    made, closed = socket.socket(), socket.socket()
    made.setblocking(False)
    closed.bind(("127.0.0.1", 0))
    made.connect_ex(closed.getsockname())
    began = threading.Event()

    def wait():
        began.set()
        poll = select.poll()
        poll.register(made, select.POLLOUT)
        outcome = made.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) if poll.poll(LONGEST * 1e3) else "silence"
        print(errno.errorcode.get(outcome, outcome), flush=True)
        os._exit(0)

    threading.Thread(target=wait).start()
    began.wait()
    # It ends alone, as by pthread_exit(3).
    ctypes.CDLL(None).syscall({"aarch64": 93}.get(os.uname().machine, 60), 0)


def busy():
    """How five connects end whose thread asks by connect(2) how far they are, and computes for 20 ms in between."""
    found = []
    for _ in range(5):
        with socket.socket() as made, socket.socket() as closed:
            made.setblocking(False)
            closed.bind(("127.0.0.1", 0))
            code, end = errno.EINPROGRESS, time.perf_counter() + PATIENCE
            while code in (errno.EINPROGRESS, errno.EALREADY) and time.perf_counter() < end:
                code, frame = made.connect_ex(closed.getsockname()), time.perf_counter() + 0.02
                while time.perf_counter() < frame:
                    pass
            found.append(errno.errorcode.get(code, code))
    print(json.dumps(collections.Counter(found)))


def slow(*front):
    """How connects end in a network of this process's own that delays packets, or why there is none."""
    place = network.enter()
    shaped = subprocess.run("tc qdisc add dev lo root tbf rate 64kbit burst 2000 latency 3s".split(), capture_output=True, text=True)
    if shaped.returncode or not place.startswith("its own"):
        print(f"left out: {place} {shaped.stderr.strip()}")
    else:
        print(json.dumps([counts(run(front, way, 12, 2, 1)) for way in ("blocks", "polls")]))


def greet(listener, letter):
    with contextlib.suppress(OSError):
        while True:
            link, _ = listener.accept()
            with link, contextlib.suppress(OSError):
                link.sendall(letter)


def again(count=2_000):
    """What the second of two connects from one address is greeted with, where the first is given up while its outcome comes."""
    listeners = [socket.create_server(("127.0.0.1", 0), backlog=512) for _ in range(2)]
    for listener, letter in zip(listeners, (b"A", b"B")):
        threading.Thread(target=greet, args=(listener, letter), daemon=True).start()
    first, second = (listener.getsockname() for listener in listeners)
    closed = socket.socket()
    closed.bind(("127.0.0.1", 0))
    found = collections.Counter()
    for number in range(count):
        is_closed = number % 2 == 0
        made = socket.socket()
        made.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        made.setblocking(False)
        made.connect_ex(first if is_closed or number % 4 == 1 else closed.getsockname())
        address, end = made.getsockname(), time.perf_counter() + number % 120 * 1e-6
        while time.perf_counter() < end:
            pass
        if is_closed:
            made.close()
            made = socket.socket()
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            made.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            with contextlib.suppress(OSError):
                made.bind(address)
        else:
            # AF_UNSPEC ends the connect.
            ctypes.CDLL(None).connect(made.fileno(), bytes(16), 16)
        made.settimeout(10)
        try:
            made.connect(second)
            found[made.recv(1).decode() or "nothing"] += 1
        except OSError as error:
            found[errno.errorcode.get(error.errno, str(error))] += 1
        made.close()
    print(json.dumps(found))


def elsewhere():
    """A connect in a network namespace of this process's own."""
    place = network.enter()
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.socket() as made:
        print(place + ":", errno.errorcode.get(made.connect_ex(listener.getsockname())))


def run(front, way, count=EACH, width=THREADS, names=3):
    command = [*front, sys.executable, os.path.abspath(__file__), "inner", way, str(count), str(width), str(names)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if done.returncode:
        raise SystemExit(f"{' '.join(command[:6])} …: {done.stderr[-500:]}")
    return json.loads(done.stdout)


def counts(found):
    return dict(sorted(collections.Counter(f"{name} {outcome}" for name, outcome, _ in found).items()))


def main():
    if sys.argv[1:2] == ["inner"]:
        return inner(*sys.argv[2:])
    if sys.argv[1:2] == ["orphan"]:
        return orphan()
    modes = {"again": again, "busy": busy, "slow": slow, "elsewhere": elsewhere}
    if sys.argv[1:2] and sys.argv[1] in modes:
        return modes[sys.argv[1]](*sys.argv[2:])
    programs.need_squall()
    with tempfile.TemporaryDirectory(prefix="squall-outcomes-") as folder:
        os.chmod(folder, 0o755)
        squall = shutil.copy(programs.SQUALL, os.path.join(folder, "squall"))
        delay = os.path.join(folder, "delay.json")
        with open(delay, "w", encoding="utf-8") as file:
            json.dump({"name": "delay", "faults": [{"kind": "connect", "how": "delay", "for": "100 ms"}]}, file)
        # Python has to be one that others can run.
        user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"] if os.geteuid() == 0 else []
        if user and not sys.executable.startswith("/usr"):
            sys.executable = "/usr/bin/python3"
        own = shutil.copy(os.path.abspath(__file__), folder)
        shutil.copytree(os.path.join(os.path.dirname(HERE), "kit"), os.path.join(folder, "kit"))
        globals()["__file__"] = own
        none = [*user, squall, "exec", "--latency", "0ms", "--"]
        plain, supervised = (counts(run(front, "blocks")) for front in (user, none))
        verdict("blocks", plain == supervised, f"plain {plain}, squall exec {supervised}")
        polled = run(none, "polls")
        told = counts(polled)
        refused = [outcome for name, outcome, _ in polled if name == "closed"]
        as_refused = refused.count("ECONNREFUSED")
        holds = (as_refused == len(refused)
                 and all(outcome == {"open": "connected", "silent": "silence"}[name] for name, outcome, _ in polled if name != "closed"))
        verdict("polls", holds, f"{told}, {as_refused} of {len(refused)} refusals as ECONNREFUSED")
        for way in ("blocks", "polls"):
            found = run([*user, squall, "exec", delay, "--"], way, 100, 1, 1)
            median = statistics.median(took for _, _, took in found) * 1e3
            verdict("delay", 100 <= median <= 103 and {outcome for _, outcome, _ in found} == {"connected"},
                    f"{way}: median {median:.1f} ms of {counts(found)}")
        command = [*user, squall, "exec", delay, "--", sys.executable, own, "orphan"]
        outcome = subprocess.run(command, capture_output=True, text=True, timeout=60).stdout.strip()
        verdict("thread", outcome == "ECONNREFUSED", f"a refusal when the first thread has ended: {outcome}")
        done = subprocess.run([*user, squall, "exec", delay, "--", sys.executable, own, "busy"], capture_output=True, text=True, timeout=60)
        verdict("busy", done.stdout.strip() == '{"ECONNREFUSED": 5}', done.stdout.strip() + done.stderr.strip()[-300:])
        if user:
            done = subprocess.run([sys.executable, own, "slow", *none], capture_output=True, text=True, timeout=60)
            said = done.stdout.strip()
            verdict("slow", said == json.dumps([{"open connected": 12}] * 2) or said.startswith("left out"), said + done.stderr.strip()[-300:])
        done = subprocess.run([*none, sys.executable, own, "again"], capture_output=True, text=True, timeout=300)
        verdict("again", done.stdout.strip() == '{"B": 2000}', done.stdout.strip() + done.stderr.strip()[-300:])
        library = os.path.join(folder, "library.so")
        compiled = subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, "-x", "c", "-"], input=LIBRARY, capture_output=True, text=True)
        preloaded = [*user, "env", f"LD_PRELOAD={library}", squall, "exec", "--outage", "0s..1h=refuse", "--", "bash", "-c",
                     "exec 3<>/dev/tcp/127.0.0.1/9"]
        done = subprocess.run(preloaded, capture_output=True, text=True, timeout=60)
        verdict("library", not compiled.returncode and done.returncode == 1 and "refused" in done.stderr,
                f"exit code {done.returncode}: {compiled.stderr}{done.stderr.strip()[-300:]!r}")
        done = subprocess.run([squall, *none[len(user) + 1:], sys.executable, own, "elsewhere"], capture_output=True, text=True, timeout=60)
        said = done.stdout.strip()
        verdict("namespace", said.startswith("its own") and said.endswith("EACCES") and "network namespace" in done.stderr,
                f"{said}; {done.stderr.strip()}")
    finish()


main()
