"""One seed gives one journal, under load and with any read size."""
import socket, subprocess, sys, threading

from acceptance.harness import Nginx, Squall, need, verdict


def measure():
    need("curl")
    faults = [
        {"kind": "cut", "stream": "downstream", "between": ["100 KB", "3 MB"], "when": {"chance": "60 %"}},
        {"kind": "stall", "stream": "downstream", "at": "200 KB", "for": "20 ms", "when": {"chance": "50 %"}},
        {"kind": "latency", "delay": "2 ms", "jitter": "2 ms", "when": {"chance": "70 %"}},
        {"kind": "bandwidth", "rate": "400 MB/s", "burst": "64 KB", "when": {"connection": {"every": 3}}},
    ]

    def journal(port, seed, read_size):
        with Squall({"seed": seed, "faults": faults}, port) as squall:
            for _ in range(20):
                with socket.create_connection(("127.0.0.1", squall.port)) as connection:
                    connection.sendall(b"GET /file.bin HTTP/1.0\r\n\r\n")
                    try:
                        while connection.recv(read_size):
                            pass
                    except ConnectionResetError:
                        pass
        return squall.journal()

    with Nginx() as nginx:
        nginx.file("file.bin", 4_000_000)
        runs, stop = [], threading.Event()
        for number in range(20):
            load = []
            if number % 2:
                load = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(4)]
            runs.append(journal(nginx.port, 7, [700, 4096, 65536, 1 << 20][number % 4]))
            for process in load:
                process.kill()
                process.wait()
        other = journal(nginx.port, 8, 65536)
        stop.set()
    same = sum(run == runs[0] for run in runs)
    verdict("determinism", same == 20 and len(runs[0]) > 20,
            f"{same} of 20 journals of {len(runs[0])} lines are the same, with load and without, reading 700 B to 1 MiB")
    verdict("determinism", other != runs[0], "another seed gives another journal")
