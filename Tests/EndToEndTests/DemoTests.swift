import Digests
import Foundation
import Glibc
import Testing

/// `squall demo` in addition to the shipped profiles.
@Suite(.timeLimit(.minutes(5))) struct DemoTests {
    private static let dicey = """
        { "name": "dicey", "faults": [
            { "kind": "cut", "how": "close", "between": ["20 KiB", "180 KiB"], "when": { "connection": "1..3" } } ] }
        """

    @Test func `the same seed sends the same file and resumes at the same offsets, another seed does not`() async throws
    {
        try await withFolder { folder in
            let path = folder.appendingPathComponent("dicey.json").path
            try Data(DemoTests.dicey.utf8).write(to: URL(fileURLWithPath: path))
            func verdicts(_ seed: String) async throws -> [Event] {
                let outcome = try await squall("demo", path, "--size", "600KiB", "--seed", seed, "--events", "json")
                #expect(outcome.status == 0)
                return try decoded(outcome.milestones, as: Event.self).filter { $0.event == "proved" }
            }
            let first = try await verdicts("11")
            let second = try await verdicts("11")
            let other = try await verdicts("12")
            #expect(first.first == second.first)
            // How much of a cut upload the server has read depends on the machine.
            #expect(first.map(\.sent) == second.map(\.sent))
            #expect(first.map(\.transfer) == ["download", "upload"])
            for (one, another) in zip(first, other) {
                #expect(one.resumedAt?.isEmpty == false)
                #expect(one.resumedAt != another.resumedAt || one.transfer == "upload")
                #expect(one.sent != another.sent)
            }
        }
    }

    @Test func `a download and then an upload are verified, and the network starts again for each`() async throws {
        let profile = """
            { "name": "away", "faults": [ { "kind": "cut", "at": "100 KiB", "when": { "connection": 1 } } ],
              "phases": [ { "name": "near", "for": "1 h" }, { "name": "far" } ] }
            """
        try await withFolder { folder in
            try Data(profile.utf8).write(to: folder.appendingPathComponent("away.json"))
            let text = try await squall("demo", "./away.json", "--size", "512KiB", folder: folder)
            #expect(text.status == 0, "\(text.errors)")
            let halves = text.output.components(separatedBy: "\nupload: the network starts anew\n")
            #expect(halves.count == 2 && halves[0].contains("\ndownload\n"))
            for (half, stream) in zip(halves, ["downstream", "upstream"]) {
                let lines = [
                    "  — near\n", "connection 1, \(stream): cut resets at 102,400\n", "client: resumed at ",
                    "\nequal: the file arrived byte for byte\n",
                ]
                for line in lines { #expect(half.contains(line), "\(line) in \(half)") }
            }
            #expect(text.lines.last == "proved: downloaded and uploaded, the file is the same byte for byte")
        }
    }

    @Test(arguments: [("downstream", "download"), ("upstream", "upload")])
    func `one direction is one transfer`(direction: String, transfer: String) async throws {
        let arguments = ["demo", "first-two-fail", "--size", "200KiB", "--direction", direction]
        let text = try await squall(arguments)
        #expect(text.status == 0)
        #expect(text.output.contains("\n\(transfer)\n"))
        #expect(text.lines.last == "equal: the file arrived byte for byte")
        let told = try await squall(arguments + ["--events", "json"])
        let events = try decoded(told.milestones, as: Event.self)
        #expect(events.allSatisfy { $0.transfer == transfer })
        #expect(events.filter { $0.event == "proved" }.map(\.equal) == [true])
    }

    @Test func `an upload of which a bit is flipped is exit 1, after a download that arrived`() async throws {
        let profile = """
            { "name": "flip", "faults": [
                { "kind": "corrupt", "stream": "upstream", "at": "100 KiB", "when": { "connection": 1 } } ] }
            """
        try await withFolder { folder in
            try Data(profile.utf8).write(to: folder.appendingPathComponent("flip.json"))
            let outcome = try await squall(words: "demo ./flip.json --size 300KiB --events json", folder: folder)
            #expect(outcome.status == 1)
            #expect(outcome.errors.hasPrefix("squall: the uploaded file did not arrive: "), "\(outcome.errors)")
            let verdicts = try decoded(outcome.milestones, as: Event.self).filter { $0.event == "proved" }
            #expect(verdicts.map(\.transfer) == ["download"])
        }
    }

    @Test func `without a seed one is chosen and printed, and it repeats the same run`() async throws {
        let first = try await squall("demo", "first-two-fail", "--size", "200KiB")
        let seed = try #require(first.output.firstMatch(of: /with seed ([0-9]+)/)).output.1
        let digest = try #require(first.output.firstMatch(of: /SHA-256 +([0-9a-f]{64})/)).output.1
        let second = try await squall("demo", "first-two-fail", "--size", "200KiB", "--seed", "\(seed)")
        #expect(second.output.contains(digest))
    }

    @Test func `keep leaves the sent and the received files, which are equal, and a mark`() async throws {
        try await withFolder { folder in
            let outcome = try await squall(words: "demo first-two-fail --size 300KiB --keep kept", folder: folder)
            #expect(outcome.status == 0)
            let kept = folder.appendingPathComponent("kept")
            let sent = try Data(contentsOf: kept.appendingPathComponent("sent/file.bin"))
            let received = try Data(contentsOf: kept.appendingPathComponent("received.bin"))
            #expect(sent.count == 300 << 10)
            #expect(sent == received)
            #expect(try Data(contentsOf: kept.appendingPathComponent("uploaded.bin")) == sent)
            let digest = SHA256.hash(received).hexadecimal
            #expect(outcome.output.contains("\(digest)  sent"))
            #expect(outcome.output.contains("\(digest)  received"))
            let names = try FileManager.default.contentsOfDirectory(atPath: kept.path).sorted()
            #expect(
                names == [".squall-demo", "received.bin", "sent", "uploaded.bin"],
                "the first tells that a demo made the others"
            )
            let again = try await squall("demo", "slow-3g", "--size", "1KiB", "--keep", "kept", folder: folder)
            #expect(again.status == 0, "a folder that a demo has left is used again")
        }
    }

    /// Files that may be in the given folder and must survive.
    @Test(arguments: ["notes.txt", "received.bin", "sent/file.bin", "received.bin/notes.txt"])
    func `a folder with foreign files is exit 2 and stays as it is`(name: String) async throws {
        try await withFolder { folder in
            let file = folder.appendingPathComponent("kept/\(name)")
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(),
                withIntermediateDirectories: true
            )
            try Data("precious".utf8).write(to: file)
            let outcome = try await squall("demo", "slow-3g", "--size", "1KiB", "--keep", "kept", folder: folder)
            #expect(outcome.status == 2)
            #expect(outcome.errorLines.count == 1)
            #expect(outcome.errors.contains("isn't empty and no earlier demo made it"))
            #expect(
                try FileManager.default.subpathsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(name) }.count
                    == 1
            )
            #expect(try Data(contentsOf: file) == Data("precious".utf8))
        }
    }

    @Test(arguments: ["received.bin", "sent/file.bin", "uploaded.bin"])
    func `a foreign file in place of a kept one is not removed`(name: String) async throws {
        try await withFolder { folder in
            let first = try await squall("demo", "slow-3g", "--size", "1KiB", "--keep", "kept", folder: folder)
            #expect(first.status == 0)
            let file = folder.appendingPathComponent("kept/\(name)")
            try FileManager.default.removeItem(at: file)
            try FileManager.default.createDirectory(at: file, withIntermediateDirectories: false)
            try Data("precious".utf8).write(to: file.appendingPathComponent("notes.txt"))
            let second = try await squall("demo", "slow-3g", "--size", "1KiB", "--keep", "kept", folder: folder)
            #expect(second.status == 2)
            #expect(second.errorLines.count == 1)
            #expect(second.errors.contains("/kept/\(name)”: move it away"))
            #expect(try Data(contentsOf: file.appendingPathComponent("notes.txt")) == Data("precious".utf8))
        }
    }

    @Test(arguments: [SIGINT, SIGTERM, SIGHUP], ["both", "upstream"])
    func `an interrupted demo leaves nothing, and doesn't offer to continue`(
        number: Int32,
        direction: String
    ) async throws {
        // A server that refuses would let the client give up, which a busy machine doesn't wait for.
        let profile = DemoTests.cutThenSilent(direction == "both" ? "downstream" : "upstream")
        try await withFolder { folder in
            try Data(profile.utf8).write(to: folder.appendingPathComponent("cut.json"))
            let temporary = folder.appendingPathComponent("temporary")
            try FileManager.default.createDirectory(at: temporary, withIntermediateDirectories: false)
            let arguments = [
                "demo", "./cut.json", "--size", "300KiB", "--direction", direction, "--events", "json",
            ]
            try await withChild(
                Programs.squall,
                arguments,
                environment: ["TMPDIR": temporary.path],
                folder: folder
            ) { child in
                _ = try await child.line(with: "retrying")
                child.signal(number)
                // A closing terminal may send two.
                if number == SIGHUP { child.signal(number) }
                let outcome = await child.finish()
                #expect(outcome.status == 1)
                let transfer = direction == "both" ? "download" : "upload"
                #expect(outcome.errors.hasPrefix("squall: the \(transfer) was interrupted after "))
                #expect(outcome.errors.hasSuffix(" of 300 KiB, and another demo starts from the beginning\n"))
                #expect(!outcome.errors.contains("continue"))
                #expect(outcome.errorLines.count == 1)
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: temporary.path).isEmpty)
        }
    }

    /// The first connection is cut after a part of the file, the others never respond.
    private static func cutThenSilent(_ stream: String) -> String {
        """
        { "name": "cut-then-silent", "faults": [
            { "kind": "cut", "stream": "\(stream)", "at": "200 KiB", "how": "reset", "when": { "connection": 1 } },
            { "kind": "stall", "stream": "\(stream)", "at": "0 B", "for": "1 h", "when": { "connection": "2.." } } ] }
        """
    }

    @Test func `a kept demo that was interrupted starts from the beginning, as it says`() async throws {
        try await withFolder { folder in
            try Data(DemoTests.cutThenSilent("downstream").utf8).write(to: folder.appendingPathComponent("cut.json"))
            let arguments = ["demo", "./cut.json", "--size", "300KiB", "--keep", "kept", "--events", "json"]
            try await withChild(Programs.squall, arguments, folder: folder) { child in
                _ = try await child.line(with: "retrying")
                child.signal(SIGINT)
                let outcome = await child.finish()
                #expect(outcome.status == 1)
                #expect(outcome.errors.contains("another demo starts from the beginning"))
            }
            let again = try await squall("demo", "slow-3g", "--size", "2KiB", "--keep", "kept", folder: folder)
            #expect(again.status == 0)
            #expect(!again.output.contains("starts over"))
            let names = try FileManager.default.contentsOfDirectory(atPath: folder.path + "/kept").sorted()
            #expect(names == [".squall-demo", "received.bin", "sent", "uploaded.bin"])
        }
    }

    @Test func `a kept demo that was killed during its upload is no obstacle to the next`() async throws {
        let silent = """
            { "name": "silent", "faults": [ { "kind": "stall", "stream": "upstream", "at": "100 KiB", "for": "1 h" } ] }
            """
        try await withFolder { folder in
            try Data(silent.utf8).write(to: folder.appendingPathComponent("silent.json"))
            let arguments = ["demo", "./silent.json", "--size", "300KiB", "--keep", "kept", "--events", "json"]
            try await withChild(Programs.squall, arguments, folder: folder) { child in
                _ = try await child.line(with: "resumable")
                child.signal(SIGKILL)
                _ = await child.finish()
            }
            let again = try await squall("demo", "slow-3g", "--size", "2KiB", "--keep", "kept", folder: folder)
            #expect(again.status == 0, "\(again.errors)")
            let names = try FileManager.default.contentsOfDirectory(atPath: folder.path + "/kept").sorted()
            #expect(names == [".squall-demo", "received.bin", "sent", "uploaded.bin"])
        }
    }

    @Test(arguments: ["both", "upstream"])
    func `a demo whose client gives up doesn't offer to continue`(direction: String) async throws {
        let busy = """
            { "name": "busy", "faults": [
                { "kind": "http", "answer": { "status": 503, "header": { "Retry-After": "86400" } } } ] }
            """
        try await withFolder { folder in
            try Data(busy.utf8).write(to: folder.appendingPathComponent("busy.json"))
            let outcome = try await squall(
                words: "demo ./busy.json --size 1KiB --direction \(direction)",
                folder: folder
            )
            #expect(outcome.status == 1)
            #expect(outcome.errors.contains("the last time because the server answered 503"))
            #expect(!outcome.errors.contains("again"))
        }
    }

    @Test(arguments: ["1B", "2B", "65537B"])
    func `a file of an odd size arrives as well`(size: String) async throws {
        let outcome = try await squall("demo", "first-two-fail", "--size", size)
        #expect(outcome.status == 0)
        #expect(outcome.output.contains("equal: the file arrived byte for byte"))
    }

    @Test(arguments: [
        ("/proc/none", "mkdir(/proc/none): No such file or directory (errno 2)"),
        ("/proc/version", "open(/proc/version): Not a directory (errno 20)"),
        ("/proc/version/none", "open(/proc/version/none): Not a directory (errno 20)"),
    ])
    func `a folder that can't be used is exit 2 and one line that says why`(path: String, reason: String) async throws {
        let outcome = try await squall("demo", "--size", "1KiB", "--keep", path)
        #expect(outcome.status == 2)
        #expect(outcome.errorLines.count == 1)
        #expect(outcome.errors.contains(reason))
    }

    @Test func `a folder for temporary files that isn't there is an error, and isn't made`() async throws {
        try await withFolder { folder in
            let missing = folder.appendingPathComponent("missing").path
            let outcome = try await squall("demo", "--size", "1KiB", environment: ["TMPDIR": missing])
            let reason = "in \(missing) (TMPDIR): No such file or directory"
            #expect(outcome.status == 1 && outcome.errors.contains(reason), "\(outcome.errors)")
            #expect(!FileManager.default.fileExists(atPath: missing))
        }
    }

    @Test func `a demo removes the files of one that was killed, and not those of one that runs`() async throws {
        try await withFolder { folder in
            func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: folder.path) }
            let environment = ["TMPDIR": folder.path]
            let arguments = ["demo", "--page", "--port", "0", "--size", "1KiB"]
            try await withChild(Programs.squall, arguments, environment: environment) { demo in
                _ = try await demo.line(with: "open http://localhost:")
                let running = try names()
                try await withChild(Programs.squall, arguments, environment: environment) { killed in
                    _ = try await killed.line(with: "open http://localhost:")
                    killed.signal(SIGKILL)
                    _ = await killed.finish()
                }
                #expect(try running.count == 1 && names().count == 2)
                let outcome = try await squall("demo", "first-two-fail", "--size", "1KiB", environment: environment)
                #expect(outcome.status == 0, "\(outcome.errors)")
                #expect(try names() == running)
                demo.signal(SIGINT)
                #expect(await demo.finish().status == 0)
            }
            #expect(try names().isEmpty)
        }
    }

    @Test func `with a page it begins when the page is open, tells its story there, and goes on until Ctrl-C`()
        async throws
    {
        let arguments = [
            "demo", "wifi-walkaway", "--page", "--port", "0", "--size", "64KiB", "--direction", "downstream",
        ]
        try await withChild(Programs.squall, arguments) { demo in
            let line = try await demo.line(with: "open http://localhost:")
            let url = String(try #require(line.firstMatch(of: /http:[^ ]*/)).output)
            try await withChild(try Programs.find("curl"), ["-sN", "--max-time", "120", url + "v1/events"]) { page in
                _ = try await page.line(with: #""text":"download: 64.0 KiB through wifi-walkaway, "#)
                _ = try await page.line(with: #""text":"download, in the room""#)
                _ = try await page.line(with: #""text":"download: arrived byte for byte in "#)
                page.signal(SIGTERM)
                _ = await page.finish()
            }
            _ = try await demo.line(with: "equal: the file arrived byte for byte")
            demo.signal(SIGINT)
            let outcome = await demo.finish()
            #expect(outcome.status == 0, "\(outcome.errors)")
        }
    }

    @Test func `the port of a page that is taken, and one without a page, are errors`() async throws {
        try await withChild(Programs.squall, ["demo", "--page", "--port", "0", "--size", "1KiB"]) { demo in
            let line = try await demo.line(with: "open http://localhost:")
            let port = String(try #require(line.firstMatch(of: /localhost:([0-9]+)/)).output.1)
            let taken = try await squall("demo", "--page", "--port", port, "--size", "1KiB")
            #expect(taken.status == 1)
            #expect(taken.errors.contains("the port is taken; stop what has it, or give --port"))
            demo.signal(SIGINT)
            let outcome = await demo.finish()
            #expect(outcome.status == 0)
        }
        let alone = try await squall("demo", "--port", "1")
        #expect(alone.status == 2 && alone.errors.contains("give --page as well"))
    }
}
