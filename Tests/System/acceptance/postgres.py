"""psql through a Unix socket on one side of the proxy, and TCP on the other."""
import os, subprocess, time

from acceptance.harness import Squall, need, verdict
from kit import postgres as database


def measure():
    if not database.binaries():
        subprocess.run(["apt-get", "install", "-y", "-qq", "postgresql"], check=True, stdout=subprocess.DEVNULL)
    need("psql")
    with database.Postgres() as server:
        reverse = database.programs.free_port()
        ways = {"TCP to unix:": ("127.0.0.1:0", f"unix:{server.socket}"),
                "unix: to TCP": (f"unix:{server.name(reverse)}", server.port)}
        for way, (listen, upstream) in ways.items():
            def through(profile):
                return Squall(profile, upstream, listen=listen)

            def place(squall):
                return ("127.0.0.1", squall.port) if squall.port else (server.folder, reverse)

            with through({"faults": [{"kind": "latency", "stream": "downstream", "delay": "200 ms"}]}) as squall:
                plain = server.milliseconds("127.0.0.1", server.port)
                late = server.milliseconds(*place(squall))
            verdict("postgres", 200 <= late <= 230, f"{way}: a query takes {late:.1f} ms with 200 ms of latency, "
                    f"{plain:.1f} ms without the proxy")
            with through({"faults": [{"kind": "cut", "stream": "downstream", "at": "1 MiB", "how": "reset"}]}) as squall:
                small = server.query(*place(squall), "select 6 * 7")
                large = server.query(*place(squall), "select repeat('x', 4000000)")
            lines = [(line["offset"], line["what"]) for line in squall.journal()]
            verdict("postgres", small[:2] == (0, "42\n") and large[0] == 2 and lines == [(1 << 20, "resets")],
                    f"{way}: a cut at 1 MiB ends the query that is longer: {large[2].strip().splitlines()[0]}")
            outage = {"kind": "outage", "how": "refuse"}
            with through({"phases": [{"name": "away", "for": "2 s", "faults": [outage]}, {"name": "after"}]}) as squall:
                away = server.query(*place(squall), "select 1")
                time.sleep(max(0, 2.2 - (time.monotonic() - squall.ready)))
                back = server.query(*place(squall), "select 1")
            verdict("postgres", away[0] == 2 and "Connection refused" in away[2] and back[:2] == (0, "1\n"),
                    f"{way}: an outage refuses, and afterwards queries are answered")
        left = [name for name in os.listdir(server.folder) if name.endswith(f".{reverse}")]
        verdict("postgres", not left, "no socket of the proxy is left")
