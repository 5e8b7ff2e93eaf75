#!/usr/bin/env python3
"""What a byte costs through `squall exec` and through `squall run`: downloads in turn, through no fault.

    SQUALL=.build/release/squall python3 Tests/System/exec/bytes.py

Each of seven rounds receives 2 GB on one connection. Asked are the medians of exec within a tenth of those of run: the processor
time of squall for each GB, and the throughput. Exits 1 if it takes more; beside other work it may.
"""
import os, socket, statistics, subprocess, sys, threading, time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from kit import programs
from kit.machine import processor_seconds
from kit.verdicts import finish, verdict

ROUNDS, GIGABYTES, MORE = 7, 2, 1.1


def serve(listener):
    block = bytes(1 << 20)
    while True:
        with listener.accept()[0] as link:
            try:
                while True:
                    link.sendall(block)
            except OSError:
                pass


def receive(port):
    """Receives, says how long it took, and waits for a line: squall lives until then."""
    room = bytearray(1 << 20)
    with socket.create_connection(("127.0.0.1", int(port))) as link:
        link.recv_into(room)
        began, left = time.perf_counter(), GIGABYTES * 10**9
        while left > 0:
            left -= link.recv_into(room)
        print(time.perf_counter() - began, flush=True)
    sys.stdin.readline()


def client(front, port):
    words = [*front, sys.executable, os.path.abspath(__file__), "receive", str(port)]
    return programs.start(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def by_exec(port):
    process = client([programs.SQUALL, "exec", "--latency", "0ms", "--"], port)
    seconds = float(process.stdout.readline())
    used = processor_seconds(process.pid)
    programs.end(process)
    return used, seconds


def by_run(port):
    words = [programs.SQUALL, "run", "--latency", "0ms", "--listen", "127.0.0.1:0", "--upstream", f"127.0.0.1:{port}"]
    proxy = programs.start(words, stdout=subprocess.PIPE)
    process = client([], programs.ready_port(proxy))
    seconds = float(process.stdout.readline())
    used = processor_seconds(proxy.pid)
    programs.end(process)
    programs.end(proxy)
    return used, seconds


def main():
    if sys.argv[1:2] == ["receive"]:
        return receive(sys.argv[2])
    programs.need_squall()
    listener = socket.create_server(("127.0.0.1", 0))
    server = os.fork()
    if server == 0:
        threading.Thread(target=serve, args=(listener,), daemon=True).start()
        while os.getppid() != 1:
            time.sleep(1)
        os._exit(0)
    found = {"run": [], "exec": []}
    try:
        for _ in range(ROUNDS):
            for name, way in (("run", by_run), ("exec", by_exec)):
                found[name].append(way(listener.getsockname()[1]))
    finally:
        os.kill(server, 9)
    middle = {}
    for name, rounds in found.items():
        used, seconds = (sorted(column) for column in zip(*rounds))
        middle[name] = (statistics.median(used) / GIGABYTES, GIGABYTES / statistics.median(seconds))
        print(f"{name:4} {middle[name][0]:.3f} s of processor time for each GB ({used[0] / GIGABYTES:.3f} to "
              f"{used[-1] / GIGABYTES:.3f}), {middle[name][1]:.2f} GB/s", flush=True)
    used, rate = (exec / run for run, exec in zip(middle["run"], middle["exec"]))
    verdict("processor", used <= MORE, f"{used:.2f} times that of run, asked {MORE}")
    verdict("throughput", rate * MORE >= 1, f"{rate:.2f} times that of run, asked {1 / MORE:.2f}")
    finish()


main()
