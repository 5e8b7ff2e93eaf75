"""A cut that falls silent is exact, and no peer is told."""
import os, random, socket, threading
from concurrent.futures import ThreadPoolExecutor

from acceptance.harness import Squall, is_silent, served, verdict


def measure():
    offsets = [0, 1, 1447, 1448, 65536, *(random.Random(4).randrange(2, 3_000_000) for _ in range(35))]
    data, accepted = os.urandom(4 << 20), []

    def serve(connection):
        accepted.append(connection)
        connection.sendall(data)
        threading.Event().wait(60)

    cut = {"kind": "cut", "stream": "downstream", "at": [f"{offset} B" for offset in offsets], "how": "silence"}
    exact = quiet = 0
    with served(serve) as upstream, Squall({"faults": [cut]}, upstream) as squall:
        clients = []
        for offset in offsets:
            connection = socket.create_connection(("127.0.0.1", squall.port))
            received = bytearray()
            while len(received) < offset:
                received += connection.recv(1 << 20)
            exact += received == data[:offset]
            connection.sendall(b"hello")
            clients.append(connection)
        with ThreadPoolExecutor(80) as pool:
            quiet = sum(pool.map(lambda connection: is_silent(connection, 2), clients))
            told = sum(pool.map(lambda connection: not is_silent(connection, 0.5), accepted))
        words = [line["what"] for line in squall.journal()]
    verdict("silent-cut", exact == quiet == len(offsets) and told == 0 and words == ["falls silent"] * len(offsets),
            f"{exact} of {len(offsets)} got exactly their bytes, {quiet} heard nothing for 2 s, {told} servers were told")
