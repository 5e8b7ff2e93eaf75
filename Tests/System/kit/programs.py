"""Programs that are started and ended by their numbers, and the ports that they get."""
import os, random, re, signal, socket, subprocess, time

from . import machine

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../.."))
SQUALL = os.path.abspath(os.environ.get("SQUALL", os.path.join(ROOT, ".build/release/squall")))


class Failure(Exception):
    """What ends one sample: the text says why. The run goes on with the next."""


def need_squall():
    if not os.access(SQUALL, os.X_OK):
        raise SystemExit(f"{SQUALL} is missing (build it with `make build`, or set SQUALL)")


_given = set()


def free_port():
    """A port that nobody has now, outside of those that the system gives to clients, and never the same twice."""
    low = int((machine.read("/proc/sys/net/ipv4/ip_local_port_range").split() or ["32768"])[0])
    high = low if low > 12_000 else 32_768
    for _ in range(1_000):
        port = random.randrange(10_000, high)
        if port in _given:
            continue
        _given.add(port)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue
    raise Failure("there is no free port")


def end(process):
    """Ends a process that we started, by its number, with those that it has started."""
    if process is None:
        return
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            pass
    try:
        os.killpg(process.pid, signal.SIGKILL)  # It has a group of its own: nobody else is in it.
    except ProcessLookupError:
        pass
    process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream:
            stream.close()


def start(command, **options):
    return subprocess.Popen(command, start_new_session=True, **options)


def ready_port(process):
    """The port that a command of Squall names in its line `ready:`."""
    def text(data):
        return data if isinstance(data, str) else data.decode()
    line = text(process.stdout.readline())
    if found := re.match(r"ready: \S*?:(\d+)(?:\s|$)", line):
        return int(found[1])
    process.terminate()
    line += text(process.stderr.read()) if process.stderr else ""
    end(process)
    raise Failure(f"{' '.join(map(str, process.args))} isn't ready: {line.strip()}")


def wait_until_listening(process, port):
    """Waits until a program that was started listens at a port."""
    deadline = time.monotonic() + 30
    while not machine.is_listening(port):
        if time.monotonic() > deadline or process.poll() is not None:
            end(process)
            raise Failure(f"{process.args[0]} doesn't listen")
        time.sleep(0.02)
