import Foundation
import TestStreams
import Testing

/// `squall exec`: programs that do with their sockets what few do.
@Suite(.timeLimit(.minutes(5))) struct ExecSocketTests {
    /// A port that is shut, and a listener that never answers: its queue is full, so that the kernel drops every SYN.
    static let ports = """
        import ctypes, errno, os, select, socket, sys, threading
        shut, silent, filler = socket.socket(), socket.socket(), socket.socket()
        shut.bind(("127.0.0.1", 0))
        silent.bind(("127.0.0.1", 0))
        silent.listen(0)
        filler.connect(silent.getsockname())

        """

    /// What the clients need: listeners that greet with a letter as well.
    static let common =
        ports + """
            system = ctypes.CDLL(None, use_errno=True)
            def greet(listener, letter):
                while True:
                    made = listener.accept()[0]
                    made.sendall(letter)
                    kept.append(made)
            kept = []
            def greeter(letter):
                listener = socket.create_server(("127.0.0.1", 0))
                threading.Thread(target=greet, args=(listener, letter), daemon=True).start()
                return listener.getsockname()
            first, second = greeter(b"A"), greeter(b"B")
            def name(code):
                return errno.errorcode.get(code, "ok")
            def polled(target, made=None):
                made = made or socket.socket()
                made.setblocking(False)
                made.connect_ex(target)
                return made
            def end(made):
                poll = select.poll()
                poll.register(made, select.POLLOUT)
                if not poll.poll(20000):
                    return "silence"
                code = made.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
                if code:
                    return name(code)
                made.setblocking(True)
                made.settimeout(20)
                return made.recv(1).decode()

            """

    static let client =
        common + """
            def dissolved():
                made = polled(silent.getsockname())
                # AF_UNSPEC ends the connect.
                system.connect(made.fileno(), bytes(16), 16)
                return end(polled(second, made))
            def taken_over():
                made = socket.socket()
                made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                made.bind(("127.0.0.1", 0))
                address = made.getsockname()
                polled(first, made).close()
                made = socket.socket()
                made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                made.bind(address)
                return end(polled(second, made))
            def moved(target):
                made = polled(target)
                other = made.dup()
                made.close()
                return end(other)
            def inherited(target):
                reader, writer = os.pipe()
                begun, beginner = os.pipe()
                if os.fork() == 0:
                    made = polled(target)
                    if os.fork() == 0:
                        # The beginner is gone.
                        os.read(begun, 1)
                        os.write(writer, end(made).encode())
                        os._exit(0)
                    os._exit(0)
                os.wait()
                os.write(beginner, b"!")
                return os.read(reader, 20).decode()
            def again():
                made = polled(shut.getsockname())
                poll = select.poll()
                poll.register(made, select.POLLOUT)
                poll.poll(20000)
                codes = [made.connect_ex(shut.getsockname()), made.connect_ex(first)]
                return " ".join(map(name, codes)) + " " + end(made)
            def short_value():
                made = polled(shut.getsockname())
                poll = select.poll()
                poll.register(made, select.POLLOUT)
                poll.poll(20000)
                return str(made.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR, 2))
            def limited():
                made = socket.socket()
                limit = (0).to_bytes(8, "little") + (200000).to_bytes(8, "little")
                made.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)
                return " ".join(name(made.connect_ex(silent.getsockname())) for _ in range(2))
            def interrupted():
                # The connect is refused while nobody waits for it, and must not be made anew.
                import signal
                signal.signal(signal.SIGALRM, lambda *_: None)
                made = socket.socket()
                address = (2).to_bytes(2, "little") + shut.getsockname()[1].to_bytes(2, "big") + bytes([127, 0, 0, 1]) + bytes(8)
                signal.setitimer(signal.ITIMER_REAL, 0.05)
                codes = []
                for _ in range(3):
                    result = system.connect(made.fileno(), address, 16)
                    codes.append(name(ctypes.get_errno() if result else 0))
                    if codes[-1] != "EINTR":
                        break
                    poll = select.poll()
                    poll.register(made, select.POLLOUT)
                    ready = poll.poll(20000)[0][1]
                    codes.append("error" if ready & select.POLLERR else "none")
                return codes[-1]
            def repeated(made, targets):
                return " ".join(name(made.connect_ex(target)) for target in targets)
            def timed_out():
                made = socket.socket()
                made.setsockopt(socket.IPPROTO_TCP, socket.TCP_SYNCNT, 1)
                return repeated(made, [silent.getsockname(), first, first])
            def wrong_size(size):
                made = socket.socket()
                address = (2).to_bytes(2, "little") + first[1].to_bytes(2, "big") + bytes([127, 0, 0, 1]) + bytes(200)
                return name(0 if system.connect(made.fileno(), address, size) == 0 else ctypes.get_errno())
            def unspecified():
                made = socket.create_connection(("0.0.0.0", first[1]))
                return str(made.getpeername() == first)
            found = [inherited(first), inherited(shut.getsockname()), interrupted()]
            ways = [
                dissolved, taken_over, lambda: moved(first), lambda: moved(shut.getsockname()), again, short_value, limited,
                unspecified, lambda: wrong_size(-1), lambda: wrong_size(15), lambda: wrong_size(129),
                timed_out, lambda: repeated(socket.socket(), [first, first, second]),
            ]
            ended = [None] * len(ways)
            def work(index): ended[index] = ways[index]()
            threads = [threading.Thread(target=work, args=(index,)) for index in range(len(ways))]
            for thread in threads: thread.start()
            for thread in threads: thread.join()
            print("\\n".join(found + ended))
            """

    @Test func `sockets that are used in rare ways end as without a supervisor`() async throws {
        let plain = try await run("python3", ["-c", ExecSocketTests.client])
        let ends = ["A", "ECONNREFUSED", "ECONNREFUSED", "B", "B", "A", "ECONNREFUSED", "ECONNREFUSED EINPROGRESS A"]
        #expect(plain.lines.prefix(8) == ends[...], "\(plain.errors)")
        try await withFolder { folder in
            let profile = folder.appendingPathComponent("profile.json")
            // Longer than the interval in which connects are looked after.
            let text = #"{"name":"x","faults":[{"kind":"connect","how":"delay","for":"1200 ms"}]}"#
            try Data(text.utf8).write(to: profile)
            let words = ["exec", profile.path, "--", "python3", "-c", ExecSocketTests.client]
            let supervised = try await squall(words)
            #expect(supervised.lines == plain.lines, "\(supervised.errors)")
            #expect(supervised.complaints.isEmpty)
        }
    }

    /// Connects to what never answers in two ways, and prints how they end.
    private static let waiting =
        common + """
            made = polled(silent.getsockname())
            blocks = socket.socket()
            codes = []
            thread = threading.Thread(target=lambda: codes.append(blocks.connect_ex(silent.getsockname())))
            thread.start()
            print("waits", flush=True)
            found = end(made)
            thread.join()
            print("ended:", found, name(codes[0]), flush=True)
            """

    @Test func `connects that wait are refused when the proxy of the page is disabled`() async throws {
        let words = ["exec", "--page", "--port", "0", "--", "python3", "-c", ExecSocketTests.waiting]
        try await withChild(Programs.squall, words) { child in
            let line = try await child.errorLine(with: "page: ")
            let url = String(try #require(line.firstMatch(of: /http:[^ ]*[0-9]/)).output)
            _ = try await child.line(with: "waits")
            // Either one that has begun, or one that begins at a proxy that is disabled.
            let body = #"{"enabled":false}"#
            _ = try await run("curl", ["-sS", "-X", "POST", url + "/proxies/exec", "-d", body])
            #expect(try await child.line(with: "ended: ") == "ended: ECONNREFUSED ECONNREFUSED")
            _ = await child.finish()
        }
    }

    @Test func `a connect that is polled goes on when the thread that has begun it ends`() async throws {
        let client = """
            import select, socket, threading
            listener = socket.create_server(("127.0.0.1", 0))
            made = socket.socket()
            made.setblocking(False)
            thread = threading.Thread(target=made.connect_ex, args=(listener.getsockname(),))
            thread.start()
            thread.join()
            poll = select.poll()
            poll.register(made, select.POLLOUT)
            print("connected" if poll.poll(30000) and made.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0 else "lost")
            """
        try await withFolder { folder in
            let profile = folder.appendingPathComponent("profile.json")
            // Longer than the interval in which connects are looked after.
            try Data(#"{"name":"x","faults":[{"kind":"connect","how":"delay","for":"2500 ms"}]}"#.utf8).write(
                to: profile
            )
            let words = ["exec", profile.path, "--", "python3", "-c", client]
            let outcome = try await squall(words)
            #expect(outcome.lines == ["connected"], "\(outcome.errors)")
        }
    }

    /// Tries what would connect past a supervisor, and prints how each fails.
    static let unseen =
        common + """
            MSG_FASTOPEN, MULTIPATH_TCP, FASTOPEN_CONNECT = 0x20000000, 262, 30
            def code(body):
                try:
                    body()
                    return "ok"
                except OSError as error:
                    return name(error.errno)
            class Part(ctypes.Structure):
                _fields_ = [("start", ctypes.c_char_p), ("size", ctypes.c_size_t)]
            class Message(ctypes.Structure):
                _fields_ = [
                    ("name", ctypes.c_char_p), ("name_size", ctypes.c_uint), ("parts", ctypes.POINTER(Part)),
                    ("count", ctypes.c_size_t), ("control", ctypes.c_void_p), ("control_size", ctypes.c_size_t),
                    ("flags", ctypes.c_int), ("sent", ctypes.c_uint),
                ]
            def many():
                address = (2).to_bytes(2, "little") + first[1].to_bytes(2, "big") + bytes([127, 0, 0, 1]) + bytes(8)
                part = Part(b"x", 1)
                message = Message(address, 16, ctypes.pointer(part), 1)
                if system.sendmmsg(socket.socket().fileno(), ctypes.byref(message), 1, MSG_FASTOPEN) != 1:
                    raise OSError(ctypes.get_errno(), "sendmmsg")
            print(code(lambda: socket.socket().sendto(b"x", MSG_FASTOPEN, first)))
            print(code(lambda: socket.socket().sendmsg([b"x"], [], MSG_FASTOPEN, first)))
            print(code(many))
            print(code(lambda: socket.socket().setsockopt(socket.IPPROTO_TCP, FASTOPEN_CONNECT, 1)))
            print(code(lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM, MULTIPATH_TCP)))
            """

    @Test func `what would connect unseen fails as on a system without it`() async throws {
        let words = ["exec", "--latency", "1ms", "--", "python3", "-c", ExecSocketTests.unseen]
        let outcome = try await squall(words)
        #expect(
            outcome.lines == ["ENOTSUP", "ENOTSUP", "ENOTSUP", "ENOTSUP", "EPROTONOSUPPORT"],
            "\(outcome.errors)"
        )
    }

    /// Runs the words of its arguments without the right to have others' sockets whatever they say.
    private static let unprivileged = """
        import ctypes, os, sys
        # PR_CAPBSET_DROP of CAP_SYS_PTRACE; a user that isn't root hasn't got it.
        ctypes.CDLL(None).prctl(24, 19, 0, 0, 0)
        os.execv(sys.argv[1], sys.argv[1:])
        """

    /// Connects as a program that isn't dumpable, and prints how that ends.
    private static let closed =
        common + """
            # PR_SET_DUMPABLE
            system.prctl(4, 0, 0, 0, 0)
            made = socket.socket()
            print(name(made.connect_ex(first)))
            """

    @Test(arguments: [("refuse", "EACCES", "was refused"), ("allow", "ok", "made without faults")])
    func `a connect of a program that isn't dumpable fails, with a line on standard error`(
        policy: String,
        end: String,
        said: String
    ) async throws {
        let words =
            [Programs.squall.path, "exec", "--latency", "1ms", "--unproxied", policy]
            + ["--", "python3", "-c", ExecSocketTests.closed]
        let outcome = try await run("python3", ["-c", ExecSocketTests.unprivileged] + words)
        #expect(outcome.lines == [end], "\(outcome.errors)")
        #expect(outcome.errors.contains("PR_SET_DUMPABLE") && outcome.errors.contains(said), "\(outcome.errors)")
    }
}
