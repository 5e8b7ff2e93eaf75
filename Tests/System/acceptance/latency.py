"""A delay is added to each way, and nothing else."""
import socket, statistics, time

from acceptance.harness import Squall, send_back, served, verdict


def measure():
    def medians(port, count):
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            times = []
            for _ in range(count):
                start = time.perf_counter()
                connection.sendall(bytes(64))
                got = 0
                while got < 64:
                    got += len(connection.recv(64 - got))
                times.append(time.perf_counter() - start)
        return statistics.median(times) * 1000

    with served(send_back) as upstream, Squall({}, upstream) as plain:
        fault = {"kind": "latency", "delay": "10 ms"}
        with Squall({"faults": [fault]}, upstream) as slow:
            base, delayed = medians(plain.port, 200), medians(slow.port, 200)
    added = delayed - base
    verdict("latency", abs(added - 20) <= 0.3, f"10 ms each way: a 64-byte echo takes {added:.3f} ms more at the median")
