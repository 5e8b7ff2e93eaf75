#!/usr/bin/env python3
"""The library that Python users have, toxiproxy-python of PyPI, against the built command.

    SQUALL=.build/debug/squall PYTHONPATH=.build/clients python3 Tests/System/control/python_client.py
"""
import os, sys, time, unittest

import toxiproxy
from toxiproxy.exceptions import InvalidToxic, NotFound, ProxyExists

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from kit.server import OWN_ADDRESS, Server, connected, echo, received


class PythonClient(unittest.TestCase):
    def setUp(self):
        self.upstream = self.enterContext(echo())
        self.server = self.enterContext(Server())
        self.client = toxiproxy.Toxiproxy()
        self.client.update_api_consumer("127.0.0.1", self.server.port)

    def round_trip(self, proxy):
        with connected(proxy.listen) as client:
            start = time.monotonic()
            client.sendall(b"ping")
            self.assertEqual(received(client, 4), b"ping")
            return time.monotonic() - start

    def test_the_life_of_a_proxy(self):
        self.assertTrue(self.client.running())
        self.assertIn(b"2.12.0", self.client.version())
        proxy = self.client.create(name="db", upstream=self.upstream, listen=OWN_ADDRESS)
        with self.assertRaises(ProxyExists):
            self.client.create(name="db", upstream=self.upstream)
        proxy.add_toxic(type="latency", attributes={"latency": 200, "jitter": 0})
        with self.assertRaises(ProxyExists):
            proxy.add_toxic(type="latency")
        with self.assertRaises(InvalidToxic):
            proxy.add_toxic(type="nonsense")
        self.assertEqual(proxy.get_toxic("latency_downstream").attributes, {"latency": 200, "jitter": 0})
        self.assertGreaterEqual(self.round_trip(proxy), 0.2)
        with proxy.down(), self.assertRaises(ConnectionRefusedError):
            connected(proxy.listen)
        proxy.disable()
        self.assertFalse(self.client.get_proxy("db").enabled)
        self.assertTrue(self.client.reset())
        self.assertEqual(proxy.toxics(), {})
        self.round_trip(proxy)
        with self.assertRaises(NotFound):
            proxy.destroy_toxic("latency_downstream")

    def test_populate_and_delete(self):
        entries = [{"name": name, "upstream": self.upstream, "listen": "127.0.0.1:0"} for name in ("a", "b")]
        self.assertEqual([proxy.name for proxy in self.client.populate(entries)], ["a", "b"])
        proxies = self.client.proxies()
        for proxy in proxies.values():
            self.round_trip(proxy)
        entries[0]["listen"] = proxies["a"].listen
        self.assertEqual([proxy.name for proxy in self.client.populate(entries)], ["b"])
        self.client.destroy_all()
        self.assertEqual(self.client.proxies(), {})


if __name__ == "__main__":
    unittest.main()
