#!/usr/bin/env python3
"""`squall serve` with the proxies and profiles of docker/kubernetes, mounted as Kubernetes mounts ConfigMaps."""
import datetime, json, os, sys, tempfile, time, unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from kit.programs import ROOT, Failure
from kit.server import Server, connected, echo, received

KUBERNETES = os.path.join(ROOT, "docker/kubernetes")
# The lengths of the phases of bad-wifi.json, in seconds.
GOOD, BAD, GONE = 30, 10, 3


def profile():
    with open(os.path.join(KUBERNETES, "profiles/bad-wifi.json"), encoding="utf-8") as file:
        return json.load(file)


class Mount:
    """A folder whose files are links through `..data`, which an update replaces by a rename."""

    def __init__(self, folder):
        self.folder, self.number = folder, 0

    def put(self, **files):
        self.number += 1
        version = f"..version_{self.number}"
        os.mkdir(os.path.join(self.folder, version))
        for name, value in files.items():
            with open(os.path.join(self.folder, version, f"{name}.json"), "w", encoding="utf-8") as file:
                json.dump(value, file)
            link = os.path.join(self.folder, f"{name}.json")
            if not os.path.lexists(link):
                os.symlink(f"..data/{name}.json", link)
        os.symlink(version, os.path.join(self.folder, "..data_tmp"))
        os.rename(os.path.join(self.folder, "..data_tmp"), os.path.join(self.folder, "..data"))


class ServedProfiles(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.profiles = Mount(os.path.join(self.folder, "profiles"))
        os.mkdir(self.profiles.folder)
        self.profiles.put(**{"bad-wifi": profile()})

    def server(self, upstream, ago, kind="stand-alone"):
        """A server whose clocks have started `ago` seconds ago; its proxies listen on free ports."""
        with open(os.path.join(KUBERNETES, kind, "proxies.json"), encoding="utf-8") as file:
            proxies = json.load(file)
        for proxy in proxies:
            proxy.update(listen="127.0.0.1:0", upstream=upstream)
        path = os.path.join(self.folder, "proxies.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(proxies, file)
        start = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(seconds=ago)
        return Server(
            f"--profiles={self.profiles.folder}", f"--config={path}", "--seed=1", f"--start-at={start:%Y-%m-%dT%H:%M:%SZ}"
        )

    def eventually(self, server, holds):
        """The proxy postgres, once it is as it should be."""
        deadline = time.monotonic() + 10
        while True:
            proxy = server.call("GET", "/v1/proxies/postgres")[1]
            if holds(proxy):
                return proxy
            self.assertLess(time.monotonic(), deadline, proxy)
            time.sleep(0.02)

    def test_proxies_have_the_profile_and_are_in_the_phase_of_the_common_clock(self):
        # The bad phase, in the hundredth round.
        ago = 100 * (GOOD + BAD + GONE) + GOOD + BAD / 2
        for kind in ("stand-alone", "sidecar"):
            with echo() as upstream, self.server(upstream, ago, kind) as first, self.server(upstream, ago, kind) as second:
                for server in (first, second):
                    proxies = server.call("GET", "/v1/proxies")[1]["proxies"]
                    self.assertEqual([proxy["name"] for proxy in proxies], ["postgres", "redis"])
                    for proxy in proxies:
                        self.assertEqual(proxy["profile"]["name"], "bad-wifi")
                        self.assertEqual(proxy["clock"]["phase"], "bad")
                        self.assertEqual(proxy["seed"], 1)

    def test_a_clock_that_starts_later_has_no_phase_yet(self):
        with echo() as upstream, self.server(upstream, -3_600) as server:
            self.assertIsNone(server.call("GET", "/v1/proxies/redis")[1]["clock"]["phase"])

    def test_an_updated_mount_reaches_an_open_connection_and_leaves_the_clock(self):
        with echo() as upstream, self.server(upstream, GOOD / 3) as server:
            before = server.call("GET", "/v1/proxies/postgres")[1]
            self.assertEqual(before["clock"]["phase"], "good")
            with connected(before["listen"]) as client:
                client.sendall(b"before")
                self.assertEqual(received(client, 6), b"before")
                changed = profile()
                changed["summary"] = "changed"
                changed["faults"] = [{"kind": "latency", "delay": "300 ms"}]
                self.profiles.put(**{"bad-wifi": changed})
                after = self.eventually(server, lambda proxy: proxy["profile"]["summary"] == "changed")
                self.assertEqual(after["clock"]["phase"], "good")
                start = time.monotonic()
                client.sendall(b"after")
                self.assertEqual(received(client, 5), b"after")
                self.assertGreaterEqual(time.monotonic() - start, 0.3)

    def test_a_broken_update_changes_nothing(self):
        with echo() as upstream, self.server(upstream, 0) as server:
            self.profiles.put(**{"bad-wifi": {"name": "bad-wifi", "faults": [{"kind": "latncy"}]}})

            def is_reported(_):
                found = [p for p in server.call("GET", "/v1/profiles")[1]["profiles"] if p["name"] == "bad-wifi"]
                return bool(found[0].get("problems"))

            proxy = self.eventually(server, is_reported)
            self.assertEqual(proxy["profile"]["summary"], profile()["summary"])

    def test_a_profile_that_nobody_knows_is_told(self):
        path = os.path.join(self.folder, "wrong.json")
        for value, word in (("bad-wfi", "bad-wfi"), ({"name": "x", "faults": [{"kind": "latncy"}]}, "latncy"), (1, "profile")):
            with open(path, "w", encoding="utf-8") as file:
                json.dump([{"name": "a", "upstream": "127.0.0.1:1", "profile": value}], file)
            with self.assertRaisesRegex(Failure, word):
                Server(f"--config={path}")


if __name__ == "__main__":
    unittest.main()
