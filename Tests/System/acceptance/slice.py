"""Slices have the sizes that the profile says."""
import socket

from acceptance.harness import Squall, served, source, verdict


def measure():
    sizes = []
    fault = {"kind": "slice", "stream": "downstream", "size": "400 B", "spread": "300 B", "pause": "5 ms"}
    with served(source) as upstream, Squall({"faults": [fault], "seed": 7}, upstream) as squall:
        with socket.create_connection(("127.0.0.1", squall.port)) as connection:
            while len(sizes) < 300:
                sizes.append(len(connection.recv(1 << 16)))
    # A reader that is kept from reading for 5 ms finds two slices in one.
    single = [size for size in sizes if size <= 700]
    verdict("slice", min(sizes) >= 100 and len(single) >= 270,
            f"of 100 B to 700 B every 5 ms: {len(single)} of {len(sizes)} reads are one slice, from {min(single)} B "
            f"to {max(single)} B")
