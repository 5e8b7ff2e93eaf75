import Foundation
import TestStreams
import Testing

/// `squall exec` where programs' sockets can't be duplicated, as in a container: Squall makes them. And where the kernel opens no
/// threads.
@Suite(.timeLimit(.minutes(5))) struct ExecContainerTests {
    #if arch(x86_64)
        /// The numbers of process_vm_readv(2) and process_vm_writev(2).
        private static let copying = "310,311"
    #else
        private static let copying = "270,271"
    #endif
    /// The numbers of pidfd_open(2) and pidfd_getfd(2).
    private static let (opening, duplicating) = ("434", "438")

    /// pidfd_open(2) as it is before Linux 6.9: with a flag it fails with EINVAL.
    private static let opensNoThreads = "\(opening):22"

    /// Has the calls with the numbers of its first argument fail with EPERM, as the filter of a container does, and runs the
    /// others. One with an errno value fails with that if its second argument isn't 0.
    private static let container = """
        import ctypes, os, sys
        class Instruction(ctypes.Structure):
            _fields_ = [("code", ctypes.c_uint16), ("yes", ctypes.c_uint8), ("no", ctypes.c_uint8), ("k", ctypes.c_uint32)]
        class Program(ctypes.Structure):
            _fields_ = [("count", ctypes.c_uint16), ("instructions", ctypes.c_void_p)]
        words = [(0x20, 0, 0, 0)]
        for call in sys.argv[1].split(","):
            number, _, code = call.partition(":")
            if code:
                words += [(0x15, 0, 4, int(number)), (0x20, 0, 0, 24), (0x15, 1, 0, 0), (0x06, 0, 0, 0x00050000 | int(code))]
                words.append((0x20, 0, 0, 0))
            else:
                words += [(0x15, 0, 1, int(number)), (0x06, 0, 0, 0x00050001)]
        words.append((0x06, 0, 0, 0x7FFF0000))
        listed = (Instruction * len(words))(*(Instruction(*word) for word in words))
        system = ctypes.CDLL(None, use_errno=True)
        assert system.prctl(38, 1, 0, 0, 0) == 0
        assert system.prctl(22, 2, ctypes.byref(Program(len(words), ctypes.addressof(listed)))) == 0
        os.execv(sys.argv[2], sys.argv[2:])
        """

    private func contained(_ words: [String], without calls: String = duplicating) async throws -> Outcome {
        try await run("python3", ["-c", ExecContainerTests.container, calls, Programs.squall.path] + words)
    }

    /// As Docker does, and as it did before 23.0.
    @Test(arguments: [duplicating, "\(duplicating),\(copying)"])
    func `sockets that are used in rare ways end as without a supervisor`(without calls: String) async throws {
        let plain = try await run("python3", ["-c", ExecSocketTests.client])
        try await withFolder { folder in
            let profile = folder.appendingPathComponent("profile.json")
            // Longer than the interval in which sockets are looked after.
            let text = #"{"name":"x","faults":[{"kind":"connect","how":"delay","for":"1200 ms"}]}"#
            try Data(text.utf8).write(to: profile)
            let words = ["exec", profile.path, "--", "python3", "-c", ExecSocketTests.client]
            let outcome = try await contained(words, without: calls)
            #expect(outcome.lines == plain.lines, "\(outcome.errors)")
            #expect(outcome.complaints.isEmpty)
        }
    }

    @Test func `what would connect unseen fails as on a system without it`() async throws {
        let outcome = try await contained(["exec", "--latency", "1ms", "--", "python3", "-c", ExecSocketTests.unseen])
        #expect(
            outcome.lines == ["ENOTSUP", "ENOTSUP", "ENOTSUP", "ENOTSUP", "EPROTONOSUPPORT"],
            "\(outcome.errors)"
        )
    }

    /// Prints what a program finds of its sockets before and after it connects them.
    private static let client =
        ExecSocketTests.common + """
            import fcntl
            made = socket.socket()
            print(os.get_inheritable(made.fileno()), fcntl.fcntl(made, fcntl.F_GETFL) & os.O_NONBLOCK)
            made = socket.socket(socket.AF_INET6, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
            print(made.family, made.type, fcntl.fcntl(made, fcntl.F_GETFL) & os.O_NONBLOCK)
            # Without SOCK_CLOEXEC.
            raw = system.socket(2, 1, 0)
            print(os.get_inheritable(raw))
            made = socket.socket()
            made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            made.setblocking(False)
            poll = select.epoll()
            poll.register(made, select.EPOLLOUT | select.EPOLLET)
            poll.poll(0)
            made.connect_ex(first)
            print(poll.poll(20)[0][1] & select.EPOLLOUT, end(made))
            print(name(made.connect_ex(first)), name(made.connect_ex(second)))
            print(made.getpeername() == first, made.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE))
            try:
                socket.socket().getpeername()
            except OSError as error:
                print(name(error.errno))
            # A free port, which a server then takes.
            for listens in (False, True):
                made = socket.socket()
                made.bind(("127.0.0.1", 0))
                if listens:
                    made.listen()
                address = made.getsockname()
                made.close()
                server = socket.socket()
                server.bind(address)
                server.listen()
                print(end(polled(first)), end(polled(shut.getsockname())), polled(address).fileno() > 0)
                server.accept()[0].close()
                server.close()
            sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            receiver.bind(("127.0.0.1", 0))
            sender.connect(receiver.getsockname())
            sender.send(b"x")
            print(receiver.recv(1), sender.getpeername() == receiver.getsockname())
            one, other = socket.socketpair()
            one.send(b"y")
            print(other.recv(1))
            # The peer sees the end of what is closed at once.
            server = socket.create_server(("127.0.0.1", 0))
            made = socket.create_connection(server.getsockname())
            peer = server.accept()[0]
            made.close()
            peer.settimeout(20)
            print(peer.recv(1))
            """

    @Test func `programs find their sockets as they are without a supervisor`() async throws {
        let plain = try await run("python3", ["-c", ExecContainerTests.client])
        #expect(plain.lines.count == 12, "\(plain.errors)")
        let words = ["exec", "--latency", "1ms", "--", "python3", "-c", ExecContainerTests.client]
        let outcome = try await contained(words)
        #expect(outcome.lines == plain.lines, "\(outcome.errors)")
        #expect(outcome.complaints.isEmpty)
    }

    /// Sockets that block are those of a look-up of addresses.
    @Test(arguments: [
        (kind: "SOCK_NONBLOCK", option: "--seed=1", isReported: true), ("SOCK_CLOEXEC", "--seed=1", false),
        ("SOCK_NONBLOCK", "--except=:443", false),
    ])
    func `a connect of UDP to port 443 is reported`(kind: String, option: String, isReported: Bool) async throws {
        let client = "from socket import *; socket(AF_INET, SOCK_DGRAM | \(kind)).connect(('127.0.0.1', 443))"
        let words: Words = "exec --latency 1ms \(option) -- python3 -c \(client)"
        for outcome in [try await contained(words.words), try await squall(words: words)] {
            #expect(outcome.status == 0)
            #expect(outcome.errors.contains("HTTP/3") == isReported)
        }
    }

    /// Makes more sockets than are kept at a time, and closes them: one after the other, and once many at a time.
    private static let many =
        ExecSocketTests.common + """
            for _ in range(4200):
                socket.socket().close()
            import resource
            resource.setrlimit(resource.RLIMIT_NOFILE, (300, 300))
            made = []
            try:
                while True:
                    made.append(socket.socket())
            except OSError as error:
                print(name(error.errno))
            for one in made:
                one.close()
            print(end(polled(first)))
            """

    /// Has processes end whose connects were refused, and waits until Squall, which started the guard that started this, has
    /// closed their sockets.
    private static let ended = """
        squall=$(awk '{ print $4 }' /proc/$PPID/stat)
        count() { ls -l /proc/$squall/fd | grep -c socket:; }
        before=$(count)
        for _ in $(seq 60); do (exec 3<>/dev/tcp/127.0.0.1/1) 2>/dev/null; done
        for _ in $(seq 600); do
            if (($(count) <= before + 20)); then echo closed; exit; fi
            sleep 0.1
        done
        echo kept
        """

    /// Runs the program of its third argument as the script of the first does, with the calls of the second; not as root, who can
    /// look at all processes. It, and Python's modules, may be where other users can't find them.
    private static let unprivileged = """
        import ctypes, os, sys
        script = sys.argv[1]
        program = os.open(sys.argv[3], os.O_RDONLY)
        os.set_inheritable(program, True)
        if os.geteuid() == 0:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
        os.chdir("/")
        sys.argv[1:] = [sys.argv[2], f"/proc/self/fd/{program}", *sys.argv[4:]]
        exec(script)
        """

    @Test func `sockets of processes that have ended aren't kept, where others can't be looked at`() async throws {
        let words =
            ["-c", ExecContainerTests.unprivileged, ExecContainerTests.container, ExecContainerTests.duplicating]
            + [Programs.squall.path] + ["exec", "--latency", "1ms", "--", "bash", "-c", ExecContainerTests.ended]
        let outcome = try await run("python3", words)
        #expect(outcome.lines == ["closed"], "\(outcome.errors)")
    }

    @Test func `sockets that a program closes aren't kept`() async throws {
        let words = ["exec", "--latency", "1ms", "--", "python3", "-c", ExecContainerTests.many]
        let outcome = try await contained(words)
        #expect(outcome.lines == ["EMFILE", "A"], "\(outcome.errors)")
        #expect(outcome.complaints.isEmpty)
    }

    /// Has an orphan connect a socket that its process's parent has made and closed, once Squall has looked for closed ones: it has
    /// closed the other by then.
    private static let orphaned =
        ExecSocketTests.common + """
            squall = open(f"/proc/{os.getppid()}/stat").read().rsplit(")", 1)[1].split()[1]
            def count():
                found = 0
                for entry in os.listdir(f"/proc/{squall}/fd"):
                    try:
                        found += os.readlink(f"/proc/{squall}/fd/{entry}").startswith("socket:")
                    except OSError:
                        pass
                return found
            before = count()
            made, other = socket.socket(), socket.socket()
            (go, goer), (reader, writer) = os.pipe(), os.pipe()
            if os.fork() == 0:
                if os.fork() == 0:
                    other.close()
                    os.read(go, 1)
                    code = made.connect_ex(first)
                    os.write(writer, (name(code) if code else end(made)).encode())
                os._exit(0)
            os.wait()
            made.close()
            other.close()
            while count() > before + 1:
                select.select([], [], [], 0.01)
            os.write(goer, b"!")
            print(os.read(reader, 20).decode())
            """

    @Test func `an orphan has the sockets that it has inherited`() async throws {
        let words = ["exec", "--latency", "1ms", "--", "python3", "-c", ExecContainerTests.orphaned]
        let outcome = try await contained(words)
        #expect(outcome.lines == ["A"], "\(outcome.errors)")
        #expect(outcome.complaints.isEmpty)
    }

    /// Connects in the first thread and in another one, and prints how each has ended, and the process.
    private static let threads = """
        import errno, os, socket, threading
        listener = socket.create_server(("127.0.0.1", 0))
        codes = []
        def connect():
            codes.append(socket.socket().connect_ex(listener.getsockname()))
        connect()
        thread = threading.Thread(target=connect)
        thread.start()
        thread.join()
        print(*(errno.errorcode.get(code, "ok") for code in codes), os.getpid())
        """

    @Test func `where the kernel opens no threads, their connects have their program`() async throws {
        try await withFolder { folder in
            let (profile, journal) = (folder.appendingPathComponent("profile.json"), folder.path + "/journal.jsonl")
            let text = """
                {"name":"x","faults":[{"kind":"connect","how":"refuse","when":{"program":"python3"}}]}
                """
            try Data(text.utf8).write(to: profile)
            let words = ["exec", profile.path, "--journal", journal, "--", "python3", "-c", ExecContainerTests.threads]
            let outcome = try await contained(words, without: ExecContainerTests.opensNoThreads)
            let said = try #require(outcome.lines.first?.split(separator: " "), "\(outcome.errors)")
            #expect(said.prefix(2) == ["ECONNREFUSED", "ECONNREFUSED"])
            let lines = try String(contentsOfFile: journal, encoding: .utf8).split(separator: "\n")
            #expect(lines.filter { $0.contains("\"pid\":\(said[2]),") }.count == 2, "\(lines)")
        }
    }

    @Test func `where programs can't be had at all it says what to add, and runs nothing`() async throws {
        let calls = "\(ExecContainerTests.opening),\(ExecContainerTests.duplicating)"
        let outcome = try await contained(["exec", "--latency", "1ms", "--", "echo", "run"], without: calls)
        #expect(outcome.status == 125)
        #expect(outcome.output.isEmpty)
        #expect(outcome.errors.contains("--cap-add SYS_PTRACE"), "\(outcome.errors)")
    }
}
