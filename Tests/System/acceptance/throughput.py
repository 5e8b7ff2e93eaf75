"""One download beside HAProxy with forced splice."""
import os, signal, socket, statistics

from acceptance.harness import Haproxy, Squall, drain, source, verdict


def measure():
    listener = socket.create_server(("127.0.0.1", 0))
    sender = os.fork()
    if sender == 0:
        # A process of its own: two threads of Python would take turns.
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        while True:
            connection, _ = listener.accept()
            try:
                with connection:
                    source(connection)
            except OSError:
                pass
    port = listener.getsockname()[1]
    listener.close()
    rates = {"squall": [], "haproxy": []}
    try:
        with Squall({}, port, "--threads", "1") as squall, Haproxy(port) as haproxy:
            for turn in range(7):
                for name in sorted(rates, reverse=turn % 2 == 0):
                    rates[name].append(drain(squall.port if name == "squall" else haproxy.port, 1.0) / 1e6)
    finally:
        os.kill(sender, signal.SIGKILL)
        os.waitpid(sender, 0)
    ours, theirs = (statistics.median(rates[name]) for name in ("squall", "haproxy"))
    verdict("throughput", ours >= 0.8 * theirs,
            f"one connection downloads {ours:,.0f} MB/s, through HAProxy with forced splice {theirs:,.0f}: "
            f"{ours / theirs:.2f} (medians of 7 turns)")
