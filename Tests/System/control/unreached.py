"""Programs that connect to a proxy whose upstream is down: each sees that it is connected, as with Toxiproxy."""
import asyncio, os, shutil, socket, subprocess, sys, tempfile, unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from kit.server import Server

COUNT = 300

NODE = """
const net = require("net"), [host, port, count] = process.argv.slice(-3);
let connected = 0, ended = 0, closed = 0;
for (let i = 0; i < count; i++) {
  const socket = net.connect(port, host);
  socket.on("connect", () => connected++);
  socket.on("error", () => {});
  socket.on("data", () => {});
  socket.on("end", () => ended++);
  socket.on("close", () => { if (++closed == count) console.log(`${connected} ${ended}`); });
}
"""

JAVA = """
import java.net.*;
public class Connect {
    public static void main(String[] words) throws Exception {
        int connected = 0, ended = 0;
        for (int i = 0; i < Integer.parseInt(words[2]); i++) {
            try (Socket socket = new Socket(words[0], Integer.parseInt(words[1]))) {
                connected++;
                if (socket.getInputStream().read() < 0) ended++;
            } catch (java.io.IOException error) { }
        }
        System.out.println(connected + " " + ended);
    }
}
"""

GO = """
package main

import ("fmt"; "io"; "net"; "os"; "strconv")

func main() {
	connected, ended := 0, 0
	count, _ := strconv.Atoi(os.Args[3])
	for i := 0; i < count; i++ {
		connection, err := net.Dial("tcp", os.Args[1]+":"+os.Args[2])
		if err != nil { continue }
		connected++
		if _, err := connection.Read(make([]byte, 1)); err == io.EOF { ended++ }
		connection.Close()
	}
	fmt.Println(connected, ended)
}
"""


def closed_port():
    """A port of this machine on which nobody listens, while the socket that is returned lives."""
    holder = socket.socket()
    holder.bind(("127.0.0.1", 0))
    return holder, holder.getsockname()[1]


class Unreached(unittest.TestCase):
    def setUp(self):
        self.holder, port = closed_port()
        self.server = Server()
        self.address = self.server.proxy("down", f"127.0.0.1:{port}").rsplit(":", 1)

    def tearDown(self):
        self.server.stop()
        self.holder.close()

    def run_program(self, *command):
        done = subprocess.run([*command, *self.address, str(COUNT)], capture_output=True, text=True, timeout=120)
        self.assertEqual(done.stdout.split(), [str(COUNT)] * 2, done.stderr)

    def test_asyncio(self):
        async def attempt():
            reader, writer = await asyncio.open_connection(*self.address)
            content = await reader.read()
            writer.close()
            return content

        async def attempts():
            return await asyncio.gather(*(attempt() for _ in range(COUNT)), return_exceptions=True)

        self.assertEqual(asyncio.run(attempts()), [b""] * COUNT)

    def test_a_client_that_sends_at_once_gets_the_end_of_the_stream(self):
        for _ in range(20):
            with socket.create_connection(self.address, timeout=20) as client:
                client.sendall(b"GET / HTTP/1.1\r\n\r\n")
                client.shutdown(socket.SHUT_WR)
                self.assertEqual(client.recv(1), b"")

    @unittest.skipUnless(shutil.which("node"), "without Node.js")
    def test_node(self):
        self.run_program("node", "-e", NODE, "--")

    @unittest.skipUnless(shutil.which("javac"), "without a compiler of Java")
    def test_java(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "Connect.java"), "w") as file:
                file.write(JAVA)
            subprocess.run(["javac", "Connect.java"], cwd=folder, check=True)
            self.run_program("java", "-cp", folder, "Connect")

    @unittest.skipUnless(shutil.which("go"), "without Go")
    def test_go(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "connect.go")
            with open(path, "w") as file:
                file.write(GO)
            self.run_program("go", "run", path)


if __name__ == "__main__":
    unittest.main()
