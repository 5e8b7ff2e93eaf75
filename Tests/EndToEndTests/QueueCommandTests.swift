import Foundation
import Glibc
import TestSockets
import TestStreams
import Testing
import Units

@testable import TransferQueue

/// `squall queue`.
@Suite(.timeLimit(.minutes(5))) struct QueueCommandTests {
    /// A queue of its own in a folder.
    private struct Home {
        let folder: URL

        var environment: [String: String] { ["XDG_STATE_HOME": folder.path] }
        var queue: URL { folder.appendingPathComponent("squall/queues/default") }

        func run(_ arguments: String...) async throws -> Outcome { try await run(arguments) }

        func run(_ arguments: [String]) async throws -> Outcome {
            try await squall(["queue"] + arguments, environment: environment, folder: folder)
        }

        func file(_ name: String) -> URL { folder.appendingPathComponent(name) }

        /// The status of a job.
        func status(_ job: Int) async throws -> [String: Any] {
            let outcome = try await run("status", "\(job)", "--events", "json")
            let object = try JSONSerialization.jsonObject(with: Data(outcome.output.utf8))
            return try #require(object as? [String: Any], "\(outcome)")
        }

        /// The process of the newest daemon.
        func daemon() async throws -> pid_t? {
            let lines = try await run("logs").lines
            return lines.compactMap { $0.firstMatch(of: #/serves, process ([0-9]+)/#)?.output.1 }.last.flatMap {
                pid_t($0)
            }
        }
    }

    private func withHome(_ body: (Home) async throws -> Void) async throws {
        try await withFolder { folder in
            let home = Home(folder: folder)
            try await ending(home, after: body) {
                if let process = try await home.daemon() { kill(process, SIGKILL) }
            }
        }
    }

    /// Runs `body` with a daemon in the foreground.
    private func withDaemon(_ options: String..., body: (Home, Child) async throws -> Void) async throws {
        try await withFolder { folder in
            let home = Home(folder: folder)
            let arguments = ["queue", "serve"] + options
            try await withChild(Programs.squall, arguments, environment: home.environment, folder: folder) { child in
                _ = try await child.line(with: "ready: ")
                try await body(home, child)
            }
        }
    }

    /// Runs `body` with a listener in place of a daemon, which sends the next of `answers` to each client.
    private func withAnswers(_ answers: [QueueAnswer]..., body: (Home) async throws -> Void) async throws {
        try await withFolder { folder in
            let home = Home(folder: folder)
            try FileManager.default.createDirectory(at: home.queue, withIntermediateDirectories: true)
            let texts = try answers.map { answers in
                try Array("\(QueueProtocol.greeting)\n".utf8) + answers.flatMap { try JSONEncoder().encode($0) + [10] }
            }
            let socket = try UnixSocketName(parsing: "unix:\(home.queue.path)/queue.sock")
            let server = TestServer(at: socket) { number, client in
                if number < texts.count { try client.send(texts[number]) }
                _ = client.receiveAll()
            }
            defer { server.stop() }
            try await body(home)
        }
    }

    @Test func `a job goes on when its submitter has ended and the daemon was killed, and comes whole`() async throws {
        try await withOrigin(size: 2_000_000) { origin in
            try await withHome { home in
                let url = "http://\(origin)/file.bin"
                let submitted = try await home.run("submit", url, "--output", "copy.bin", "--limit-rate", "1MB/s")
                #expect(submitted.status == 0)
                #expect(submitted.output == "1\n")
                #expect(submitted.errors.contains("started the queue's daemon"))
                var received = 0
                while received < 200_000 { received = try await home.status(1)["bytes"] as? Int ?? 0 }
                kill(try #require(try await home.daemon()), SIGKILL)
                var left = try await home.run("status")
                while !left.errors.contains("no daemon runs") { left = try await home.run("status") }
                #expect(left.output.hasPrefix("1\tqueued"))
                let attached = try await home.run("attach", "--events", "json")
                #expect(attached.status == 0)
                #expect(try Data(contentsOf: home.file("copy.bin")) == bytes(2_000_000))
                let first = try #require(
                    attached.lines.first { $0.contains("\"phase\":\"running\"") && !$0.contains("\"bytes\":0,") }
                )
                #expect(!first.contains("\"bytes\":2000000"))
                #expect(try await home.run("logs").output.contains("removed the socket of a daemon"))
                #expect(try await home.run("prune").output == "forgot 1 job\n")
                #expect(try await home.run("status").output.isEmpty)
            }
        }
    }

    @Test func `one daemon at a time has a queue, and SIGTERM ends it`() async throws {
        try await withDaemon { home, child in
            let second = try await home.run("serve")
            #expect(second.status == 75)
            #expect(second.errors.contains("has the queue"))
            let facts = try FileManager.default.attributesOfItem(atPath: home.queue.path + "/queue.sock")
            #expect(facts[.posixPermissions] as? Int == 0o600)
            let folder = try FileManager.default.attributesOfItem(atPath: home.queue.path)
            #expect(folder[.posixPermissions] as? Int == 0o700)
            child.signal(SIGTERM)
            #expect(await child.finish().status == 0)
            #expect(!FileManager.default.fileExists(atPath: home.queue.path + "/queue.sock"))
        }
    }

    @Test func `a daemon without work ends after the time that it is given`() async throws {
        try await withDaemon("--idle", "100ms") { home, child in
            #expect(await child.finish().status == 0)
            let log = try await home.run("logs")
            #expect(log.output.contains("ends: nothing to do"))
            let file = try FileHandle(forWritingTo: home.queue.appendingPathComponent("daemon.log"))
            try file.seekToEnd()
            try file.write(contentsOf: Data([0xFF, 0x0A]))
            try file.close()
            let lines = try await home.run("logs").output
            #expect(lines == log.output + "\u{FFFD}\n", "other bytes than text hide nothing")
        }
    }

    @Test func `clients that connect while a daemon ends don't crash it`() async throws {
        try await withDaemon { home, child in
            let script = """
                import os, signal, socket, sys
                clients = [socket.socket(socket.AF_UNIX) for _ in range(200)]
                for client in clients: client.connect(sys.argv[1])
                os.kill(int(sys.argv[2]), signal.SIGTERM)
                """
            let arguments = ["-c", script, home.queue.path + "/queue.sock", "\(try #require(try await home.daemon()))"]
            #expect(try await EndToEndTests.run("python3", arguments).status == 0)
            #expect(await child.finish().status == 0)
        }
    }

    @Test func `a job that is submitted while a daemon ends waits for the next one`() async throws {
        try await withOrigin(size: 10) { origin in
            try await withHome { home in
                try #require(mkfifo(home.file("release").path, 0o600) == 0)
                let url = "http://\(origin)/file.bin"
                let first = try await home.run("submit", url, "--output", "a", "--wait", "--on-event", "cat release")
                #expect(first.status == 0, "\(first)")
                kill(try #require(try await home.daemon()), SIGTERM)
                async let second = home.run("submit", url, "--output", "b", "--wait")
                // The second daemon has found the first one, which waits for the command.
                while try await !home.run("logs").output.contains("can't open the queue") {}
                let release = home.file("release").path
                await Task.detached { _ = Glibc.close(Glibc.open(release, O_WRONLY)) }.value
                let outcome = try await second
                #expect(outcome.status == 0, "\(outcome)")
                #expect(try Data(contentsOf: home.file("b")) == bytes(10))
            }
        }
    }

    @Test func `cancel and prune leave no journal of an upload, which has a secret URL`() async throws {
        try await withUploadingOrigin(size: 300_000) { served, origin in
            try await withDaemon { home, _ in
                let source = served.appendingPathComponent("file.bin").path
                func journals() -> [String] {
                    (try? FileManager.default.contentsOfDirectory(atPath: home.queue.path + "/uploads")) ?? []
                }
                let url = "http://\(origin)/new.bin"
                let options = ["--upload", source, "--limit-rate", "20KB/s"]
                for (number, end) in [(1, "cancel"), (2, "prune")] {
                    let limit = end == "prune" ? ["--time-limit", "2s"] : []
                    let submitted = try await squall(
                        ["queue", "submit", url] + options + limit,
                        environment: home.environment
                    )
                    #expect(submitted.status == 0, "\(submitted)")
                    while journals().isEmpty {}
                    if end == "cancel" {
                        #expect(try await home.run("cancel", "\(number)").status == 0)
                    } else {
                        #expect(try await home.run("attach", "\(number)").status == 1)
                        #expect(!journals().isEmpty)
                        #expect(try await home.run("prune").output == "forgot 2 jobs\n")
                    }
                    #expect(journals().isEmpty)
                }
            }
        }
    }

    @Test func `attach ends with a job that is forgotten before its end, or that isn't there`() async throws {
        let transfer = QueuedTransfer.download("http://host/a", to: "/a")
        let job = try QueueState().submitted(transfer, host: "host", at: QueueTime(milliseconds: 0))
        let waiting = QueueJobStatus(job, QueuePosition(phase: .waiting, reason: .network), nil)
        try await withAnswers([.job(waiting), .upToDate, .removed(job.id)], [.upToDate]) { home in
            let lost = try await home.run("attach")
            #expect(lost.status == 1 && lost.errors.contains("pruned before the end was shown: job 1"), "\(lost)")
            let gone = try await home.run("attach", "1")
            #expect(gone.status == 2 && gone.errors.contains("there is no job 1"), "\(gone)")
        }
    }

    @Test func `an error of the daemon names the jobs before it that don't exist`() async throws {
        let none = QueueAnswer.failed(code: "no-job", message: "there is no job 7")
        let full = QueueAnswer.failed(code: "file-system", message: "the queue's log can't be written: full")
        try await withAnswers([none], [full]) { home in
            let cancelled = try await home.run("cancel", "7", "1", "2")
            #expect(cancelled.status == 1, "\(cancelled)")
            #expect(cancelled.errors.contains("there is no job 7; the queue's log can't be written: full"))
        }
    }

    @Test func `cancel goes on after a job that isn't there`() async throws {
        try await withDaemon { home, _ in
            for name in ["a", "b"] {
                #expect(try await home.run("submit", "http://host/\(name)", "--after", "+1h").status == 0)
            }
            let arguments = ["queue", "attach"]
            try await withChild(Programs.squall, arguments, environment: home.environment) { attached in
                _ = try await attached.errorLine(with: "2\twaiting")
                let cancelled = try await home.run("cancel", "1", "99", "2")
                #expect(cancelled.status == 2 && cancelled.errors.contains("there is no job 99"), "\(cancelled)")
                #expect(try await home.run("prune").output == "forgot 2 jobs\n")
                #expect(await attached.finish().status == 1)
            }
            let gone = try await home.run("attach", "1")
            #expect(gone.status == 2 && gone.errors.contains("there is no job 1"), "\(gone)")
        }
    }

    @Test func `a job that lacks a login or a folder waits, and is done when it has them`() async throws {
        try await withOrigin(size: 1_000) { origin in
            try await withDaemon { home, _ in
                let url = "http://\(origin)/file.bin"
                #expect(try await home.run("submit", url, "--output", "none/copy.bin").output == "1\n")
                var status: [String: Any] = [:]
                while status["reason"] as? String != "folder" { status = try await home.status(1) }
                try FileManager.default.createDirectory(at: home.file("none"), withIntermediateDirectories: false)
                #expect(try await home.run("resume", "1").status == 0)
                #expect(try await home.run("attach", "1").status == 0)
                #expect(try await home.run("submit", "http://\(origin)/other", "--output", "b", "--wait").status == 1)
                #expect(try await home.run("resume", "2", "--url", url).status == 0)
                #expect(try await home.run("attach", "2").status == 0)
                #expect(try Data(contentsOf: home.file("b")) == bytes(1_000))
                #expect(try await home.run("attach", "--events", "json").lines.count == 2, "all that have ended")
            }
        }
    }

    @Test func `a program has the queue of a daemon as one of its own, and an event until it asks for the next`()
        async throws
    {
        try await withOrigin(size: 300_000) { origin in
            try await withDaemon { home, child in
                let queue = try await TransferQueue(daemon: "default", folder: home.queue.path)
                let url = "http://\(origin)/file.bin"
                let copy = home.file("copy.bin")
                let id = try await queue.submit(.download(url, to: copy.path))
                for try await status in queue.updates() where status.id == id && status.phase.isFinal {
                    #expect(status.phase == .completed)
                    break
                }
                #expect(try Data(contentsOf: copy) == bytes(300_000))
                #expect(try await queue.status(of: id)?.result?.bytes == 300_000)
                for _ in 1...2 {
                    guard case .event(let event)? = try await queue.events().makeAsyncIterator().next() else {
                        Issue.record("the event isn't kept")
                        return
                    }
                    #expect(event.job == id)
                }
                #expect(try await queue.prune() == 0)
                let events = queue.events().makeAsyncIterator()
                _ = try await events.next()
                #expect(try await events.next() == .allDelivered)
                // A later event reaches a reader that waits for it.
                async let told = events.next()
                var later = QueuedTransfer.download(url, to: home.file("other").path)
                later.earliestBegin = QueueTime(milliseconds: 4_000_000_000_000)
                later.headers = [QueueHeader("Authorization", .memory)]
                let waiting = try await queue.submit(later, secrets: ["Authorization": "Bearer sesame"])
                try await queue.setPriority(7, of: waiting)
                try await queue.pause(waiting)
                #expect(try await queue.status(of: waiting)?.transfer.priority == 7)
                try await queue.resume(waiting)
                try await queue.cancel(waiting)
                guard case .event(let event)? = try await told else {
                    Issue.record("the event isn't told")
                    return
                }
                #expect(event.job == waiting)
                #expect(event.phase == .cancelled)
                #expect(try await queue.statuses().map(\.id) == [id, waiting])
                #expect(try await queue.prune() == 1)
                #expect(try await queue.status(of: id) == nil)
                await #expect { try await queue.pause(id) } throws: { ($0 as? TransferQueueError)?.code == .noJob }
                await #expect { _ = try await queue.submit(later) } throws: {
                    ($0 as? TransferQueueError)?.code == .invalid
                }
                let updates = queue.updates().makeAsyncIterator()
                #expect(try await updates.next()?.id == waiting)
                child.signal(SIGKILL)
                await #expect { while try await updates.next() != nil {} } throws: {
                    ($0 as? TransferQueueError)?.code == .daemon
                }
                await #expect { _ = try await queue.statuses() } throws: {
                    ($0 as? TransferQueueError)?.code == .daemon
                }
            }
        }
    }

    @Test(
        .enabled("a full disk takes a mount in a namespace of its own, which this system refuses") {
            try await FullDisk.isPossible()
        }
    )
    func `on a full disk the daemon doesn't start, and its client says why`() async throws {
        try await withFolder { folder in
            let script = """
                head -c 2000000 /dev/zero > "$1/full"
                XDG_STATE_HOME=$1 exec "$2" queue submit http://host/file
                """
            let arguments = ["-c", script, "sh", folder.path, Programs.squall.path]
            let outcome = try await FullDisk.run("sh", arguments, on: folder)
            #expect(outcome.status == 1)
            let reason = "/squall/queues/default/daemon.out”: No space left on device"
            #expect(outcome.errors.contains(reason), "\(outcome)")
        }
    }

    @Test func `an upload is done, with the command of its end`() async throws {
        try await withUploadingOrigin(size: 300_000) { served, origin in
            try await withDaemon { home, _ in
                let (source, url) = (served.appendingPathComponent("file.bin"), "http://\(origin)/new.bin")
                let told = home.file("told").path
                let command = "pwd > told; echo $SQUALL_PHASE >> told"
                let submit = ["submit", url, "--upload", source.path]
                let outcome = try await home.run(submit + ["--on-event", command, "--wait"])
                #expect(outcome.status == 0, "\(outcome)")
                #expect(outcome.errors.contains("1\trunning\t"), "in a pipe it says what the job does: \(outcome)")
                while try await !home.run("logs").output.contains("its command exited with 0") {}
                // Of the folder in which the job was submitted.
                #expect(try String(contentsOfFile: told, encoding: .utf8) == "\(home.folder.path)\ncompleted\n")
            }
        }
    }

    @Test func `networks that cost money are read from a file, and a bad line is an error`() async throws {
        try await withHome { home in
            let settings = home.file("settings")
            let file = settings.appendingPathComponent("squall/networks")
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(),
                withIntermediateDirectories: true
            )
            let environment = home.environment.merging(["XDG_CONFIG_HOME": settings.path]) { $1 }
            func serve() async throws -> Outcome {
                let arguments = ["queue", "serve", "--idle", "1ms", "--metered", "ppp7"]
                return try await squall(arguments, environment: environment, folder: home.folder)
            }
            try Data("# Mine.\nwlan0 expensive\n\neth1\tconstrained\n".utf8).write(to: file)
            #expect(try await serve().status == 0)
            #expect(try await home.run("logs").output.contains("networks: expensive: ppp7, wlan0; constrained: eth1"))
            try Data("wlan0 expensive\nwlan1 dear\n".utf8).write(to: file)
            let outcome = try await serve()
            #expect(outcome.status == 2)
            #expect(outcome.errors.contains("squall/networks”, line 2: write an interface"), "\(outcome)")
        }
    }

    @Test func `enable writes a unit, and has systemd run it`() async throws {
        try await withFolder { folder in
            let tool = folder.appendingPathComponent("systemctl")
            try Data("#!/bin/sh\necho \"$@\" >> '\(folder.path)/asked'\n".utf8).write(to: tool)
            try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: tool.path)
            let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
            let environment = [
                "XDG_STATE_HOME": folder.path, "XDG_CONFIG_HOME": folder.path, "PATH": "\(folder.path):\(path)",
            ]
            let arguments = ["--metered", "wlan0", "--per-host", "2"]
            let enabled = try await squall(["queue", "enable"] + arguments, environment: environment)
            #expect(enabled.status == 0, "\(enabled)")
            let asked = try String(contentsOf: folder.appendingPathComponent("asked"), encoding: .utf8)
            #expect(asked == "--user daemon-reload\n--user enable --now squall-queue.service\n")
            let unit = folder.appendingPathComponent("systemd/user/squall-queue.service")
            let text = try String(contentsOf: unit, encoding: .utf8)
            let words =
                #""queue" "serve" "--stay" "--name" "default" "--running" "8" "--per-host" "2" "--metered" "wlan0""#
            #expect(text.contains("ExecStart=\"\(Programs.squall.path)\" \(words)\n"))
            for name in ["XDG_STATE_HOME", "XDG_CONFIG_HOME"] {
                #expect(text.contains("\nEnvironment=\"\(name)=\(folder.path)\"\n"))
            }
            let printed = try await squall(["queue", "enable", "--print"] + arguments, environment: environment)
            #expect(printed.output == text)
        }
    }

    @Test func `the value of a header is in no file`() async throws {
        try await withOrigin(size: 10) { origin in
            try await withDaemon { home, _ in
                let url = "http://\(origin)/file.bin"
                let field = "Authorization: Bearer sesame"
                #expect(try await home.run("submit", url, "--header", field, "--after", "+1h").status == 0)
                for name in try FileManager.default.contentsOfDirectory(atPath: home.queue.path)
                where name != "queue.sock" {
                    let data = try Data(contentsOf: home.queue.appendingPathComponent(name))
                    #expect(!String(decoding: data, as: UTF8.self).contains("sesame"), "\(name)")
                }
                #expect(try await home.status(1)["reason"] as? String == "earliest-begin")
                let second = try await home.run("submit", url, "--output", ".//./file.bin")
                #expect(second.status == 2 && second.errors.contains("job 1 writes"), "\(second)")
                #expect(try await home.run("cancel", "1").status == 0)
                #expect(try await home.status(1)["phase"] as? String == "cancelled")
            }
        }
    }

    @Test(.enabled(if: geteuid() == 0, "only root can be another user"))
    func `a client of another user is refused, even where it reaches the socket`() async throws {
        try await withDaemon { home, _ in
            let socket = home.queue.path + "/queue.sock"
            var path = home.queue
            while path.path.count >= home.folder.path.count {
                try FileManager.default.setAttributes([.posixPermissions: 0o711], ofItemAtPath: path.path)
                path.deleteLastPathComponent()
            }
            try FileManager.default.setAttributes([.posixPermissions: 0o666], ofItemAtPath: socket)
            let script = """
                import os, socket, sys
                os.setgid(65534); os.setuid(65534)
                s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])
                print(len(s.recv(100)))
                """
            let outcome = try await EndToEndTests.run("python3", ["-c", script, socket])
            #expect(outcome.output == "0\n", "\(outcome)")
            #expect(try await home.run("logs").output.contains("refused a client of user 65534"))
        }
    }

    @Test(arguments: [
        ["submit"], ["submit", "ftp://host/x"], ["submit", "http://host/"],
        ["submit", "http://host/x", "--window", "22-6"],
        ["submit", "http://host/x", "--output", "a", "--upload", "b"], ["submit", "http://host/x", "--method", "PUT"],
        ["submit", "http://host/x", "--upload", "b", "--method", "GET"], ["submit", "http://host/x", "--sha256", "12"],
        ["submit", "http://host/x", "--priority", "101"], ["submit", "http://host/x", "--header", "nothing"],
        ["submit", "http://host/x", "--header", "X-A: 1", "--header", "x-a: 2"],
        ["submit", "http://host/x", "--header", "Range: bytes=1-"], ["submit", "http://host/x", "--header-file", "a"],
        ["submit", "http://host/x", "--after", "soon"], ["submit", "http://host/x", "--failures", "0"],
        ["resume", "7"], ["pause", "7"], ["cancel", "0"], ["status", "7"], ["priority", "7", "1"],
        ["priority", "7", "-101"], ["attach"], ["attach", "7"], ["prune"],
        ["logs", "--lines", "0"],
        ["serve", "--running", "0"], ["status", "--name", "a/b"], ["bogus"],
    ])
    func `wrong input is exit 2, and says why`(arguments: [String]) async throws {
        try await withHome { home in
            let outcome = try await squall(["queue"] + arguments, environment: home.environment, folder: home.folder)
            #expect(outcome.status == 2, "\(outcome)")
            #expect(outcome.output.isEmpty)
            #expect(outcome.errors.hasPrefix("Error: ") || outcome.errors.contains("squall: "))
            #expect(!outcome.errors.contains("started the queue's daemon") || arguments[0] == "submit")
        }
    }

    @Test func `the demo of the queue proves all files though its daemon is killed twice, and leaves nothing`()
        async throws
    {
        try await withFolder { folder in
            let state = folder.appendingPathComponent("state")
            let environment = ["XDG_STATE_HOME": state.path, "TMPDIR": folder.path]
            let arguments = [
                "demo", "--queue", "--latency", "5ms", "--size", "600KiB", "--seed", "3", "--events", "json",
            ]
            let outcome = try await squall(arguments, environment: environment)
            #expect(outcome.status == 0, "\(outcome)")
            #expect(outcome.lines.filter { $0.contains(#""event":"killed""#) }.count == 2)
            #expect(outcome.lines.filter { $0.contains(#""phase":"completed""#) }.count >= 20)
            let last = try #require(outcome.lines.last)
            #expect(last.contains(#""equal":true"#) && last.contains(#""jobs":20,"kills":2"#), "\(last)")
            let left = try FileManager.default.subpathsOfDirectory(atPath: folder.path)
            #expect(left.allSatisfy { !$0.contains("demo") }, "\(left)")
        }
    }

}
