import Foundation
import Glibc
import OperatingSystem
import Synchronization
import TestSockets
import TestStreams
import Testing

/// The file of `squall serve --state`.
@Suite(.timeLimit(.minutes(60))) struct StateFileTests {
    /// Runs a server with a state file during `body`, which gets the child and its address.
    private func withServer<Result>(
        _ file: URL,
        _ more: [String] = [],
        _ body: (Child, String) async throws -> Result
    ) async throws -> Result {
        let arguments = ["serve", "--host", "127.0.0.1", "--port", "0", "--state", file.path] + more
        return try await withChild(Programs.squall, arguments) { server in
            try await body(server, address(in: server.line(with: "ready: ")))
        }
    }

    private static let proxy = #"{"name":"db","listen":"127.0.0.1:0","upstream":"127.0.0.1:9","enabled":false}"#

    @Test func `what was answered is there after SIGKILL, by whichever API it was changed`() async throws {
        try await withFolder { folder in
            let file = folder.appendingPathComponent("state.json")
            let requests = [
                ("POST /proxies", StateFileTests.proxy), ("PUT /v1/profiles/mine", #"{"name":"mine"}"#),
                ("PUT /v1/proxies/db/profile", #""mine""#),
                ("PUT /v1/proxies/db/faults/f", #"{"kind":"latency","delay":"1 ms"}"#),
                ("POST /proxies/db/toxics", #"{"name":"t","type":"noop"}"#), ("DELETE /proxies/db", ""),
            ]
            var snapshot = ""
            for (line, body) in requests {
                try await withServer(file) { server, address in
                    let socket = try TestSocket.connected(to: address)
                    let before = try #require(socket.response(to: "GET /v1/snapshot"))
                    if !snapshot.isEmpty { #expect(before.body == snapshot, "after a kill") }
                    let answer = try #require(socket.response(to: line, body))
                    #expect((200..<300).contains(answer.status), "\(line): \(answer.body)")
                    snapshot = try #require(socket.response(to: "GET /v1/snapshot")).body
                    #expect(snapshot != before.body)
                    server.signal(SIGKILL)
                }
            }
        }
    }

    /// A client that changes a toxic of its own, and makes and removes a proxy of its own, until the server is killed.
    private final class Writer: Sendable {
        /// What the server has answered.
        struct Answered {
            /// The latency of the toxic.
            var value = 0
            /// Whether the proxy is there; `nil` while nobody knows.
            var exists: Bool? = false
        }

        let name: String
        let answered = Mutex(Answered())

        init(_ number: Int) { name = "w\(number)" }

        /// Changes one thing after the other; `hasAnswered` is called after each.
        func write(_ socket: TestSocket, _ hasAnswered: () -> Void) {
            for value in answered.withLock({ $0.value }) + 1..<Int.max {
                let body = #"{"attributes":{"latency":\#(value)}}"#
                guard let changed = socket.response(to: "PATCH /proxies/\(name)/toxics/t", body) else { return }
                #expect(changed.status == 200, "\(changed.body)")
                answered.withLock { $0.value = value }
                hasAnswered()
                let exists = answered.withLock { answered in
                    defer { answered.exists = nil }
                    return answered.exists == true
                }
                let made = #"{"name":"\#(name)-other","listen":"127.0.0.1:0","upstream":"127.0.0.1:9","enabled":false}"#
                let answer =
                    exists
                    ? socket.response(to: "DELETE /proxies/\(name)-other")
                    : socket.response(to: "POST /proxies", made)
                guard let answer else { return }
                #expect(answer.status == (exists ? 204 : 201), "\(answer.body)")
                answered.withLock { $0.exists = !exists }
                hasAnswered()
            }
        }

        /// Compares a listing with what was answered, and goes on from there.
        func check(_ proxies: [String: Any]) throws {
            let proxy = try #require(proxies[name] as? [String: Any], "\(name) is lost")
            let toxic = try #require((proxy["toxics"] as? [[String: Any]])?.first)
            let value = try #require((toxic["attributes"] as? [String: Int])?["latency"])
            let exists = proxies["\(name)-other"] != nil
            answered.withLock { answered in
                #expect([answered.value, answered.value + 1].contains(value))
                if let known = answered.exists { #expect(known == exists) }
                answered = Answered(value: value, exists: exists)
            }
        }
    }

    /// The number of kills: 5, or `SQUALL_KILLS`.
    private static let kills = ProcessInfo.processInfo.environment["SQUALL_KILLS"].flatMap { Int($0) } ?? 5

    @Test func `a server that is killed after any answer has lost no answered change`() async throws {
        try await withFolder { folder in
            let file = folder.appendingPathComponent("state.json")
            let writers = (0..<3).map { Writer($0) }
            try await withServer(file) { _, address in
                let socket = try TestSocket.connected(to: address)
                for writer in writers {
                    let proxy = StateFileTests.proxy.replacing("\"db\"", with: "\"\(writer.name)\"")
                    #expect(socket.response(to: "POST /proxies", proxy)?.status == 201)
                    let toxic = #"{"name":"t","type":"latency"}"#
                    #expect(socket.response(to: "POST /proxies/\(writer.name)/toxics", toxic)?.status == 200)
                }
            }
            for _ in 0..<StateFileTests.kills {
                let countdown = Countdown(from: .random(in: 1...60))
                try await withServer(file) { server, address in
                    let listing = try #require(try TestSocket.connected(to: address).response(to: "GET /proxies")).body
                    let proxies = try JSONSerialization.jsonObject(with: Data(listing.utf8)) as? [String: Any]
                    for writer in writers { try writer.check(try #require(proxies)) }
                    let ended = writers.map { writer in
                        StateFileTests.onThread {
                            guard let socket = try? TestSocket.connected(to: address) else { return }
                            writer.write(socket) { if countdown.isOver() { server.signal(SIGKILL) } }
                        }
                    }
                    for end in ended { await end.value }
                }
            }
        }
    }

    @Test func `a second server with the file is refused, and the first goes on`() async throws {
        try await withFolder { folder in
            let file = folder.appendingPathComponent("state.json")
            let link = folder.appendingPathComponent("link.json")
            try await withServer(file) { _, address in
                try FileManager.default.createSymbolicLink(at: link, withDestinationURL: file)
                let socket = try TestSocket.connected(to: address)
                for path in [file.path, link.path] {
                    #expect(socket.response(to: "POST /reset")?.status == 204)
                    let second = try await squall("serve", "--port", "0", "--state", path)
                    #expect(second.status == 1 && second.output.isEmpty)
                    #expect(
                        second.errors == "squall: another squall serve has the state file “\(path)”: stop it, or name "
                            + "another file\n"
                    )
                }
                #expect(socket.response(to: "POST /proxies", StateFileTests.proxy)?.status == 201)
            }
            // It is free once the first has ended.
            try await withServer(file) { _, address in
                let socket = try TestSocket.connected(to: address)
                #expect(socket.response(to: "GET /proxies/db")?.status == 200)
            }
        }
    }

    @Test func `a path that can't be written is exit 2 at the start`() async throws {
        try await withFolder { folder in
            let missing = folder.appendingPathComponent("missing/state.json").path
            let pipe = folder.appendingPathComponent("pipe").path
            mkfifo(pipe, 0o600)
            let paths = [
                (missing, "open: No such file or directory"), (folder.path, "open: Is a directory"),
                (pipe, "it is no regular file"), ("/proc/state.json", "open: "),
            ]
            for (path, reason) in paths {
                let outcome = try await squall("serve", "--port", "0", "--state", path)
                #expect(outcome.status == 2 && outcome.output.isEmpty)
                #expect(
                    outcome.errors.hasPrefix("squall: can't open the state file “\(path)”: \(reason)"),
                    "\(outcome)"
                )
            }
        }
    }

    @Test func `a damaged file is exit 2 and stays, and an empty one is a new state`() async throws {
        try await withFolder { folder in
            let file = folder.appendingPathComponent("state.json")
            try Data("{".utf8).write(to: file)
            let outcome = try await squall("serve", "--port", "0", "--state", file.path)
            #expect(outcome.status == 2 && outcome.errors.contains("can't be restored, and stays as it is"))
            #expect(try String(contentsOf: file, encoding: .utf8) == "{")
            try Data().write(to: file)
            #expect(chmod(file.path, 0o600) == 0)
            let config = folder.appendingPathComponent("proxies.json")
            try Data("[\(StateFileTests.proxy)]".utf8).write(to: config)
            try await withServer(file, ["--config", config.path]) { _, address in
                let socket = try TestSocket.connected(to: address)
                #expect(socket.response(to: "GET /proxies/db")?.status == 200)
            }
            let attributes = try FileManager.default.attributesOfItem(atPath: file.path)
            #expect(attributes[.posixPermissions] as? Int == 0o600, "the permissions stay")
        }
    }

    @Test func `a change that can't be kept is an error`() async throws {
        try await withFolder { folder in
            let file = folder.appendingPathComponent("deep/state.json")
            let deep = file.deletingLastPathComponent()
            try FileManager.default.createDirectory(at: deep, withIntermediateDirectories: true)
            try await withServer(file) { server, address in
                try FileManager.default.removeItem(at: deep)
                let socket = try TestSocket.connected(to: address)
                let first = try #require(socket.response(to: "POST /proxies", StateFileTests.proxy))
                #expect(first.status == 500 && first.body.contains("the change acts, but it isn't kept: "))
                let second = try #require(socket.response(to: "PUT /v1/profiles/mine", #"{"name":"mine"}"#))
                #expect(second.status == 500 && second.body.contains(#""code":"not-durable""#))
                #expect(socket.response(to: "GET /proxies")?.status == 200)
            }
        }
    }

    /// Runs `body`, which blocks, on a thread, whose end is the value.
    private static func onThread(_ body: @escaping @Sendable () -> Void) -> FirstValue<Void> {
        let ended = FirstValue<Void>()
        Thread.detachNewThread {
            body()
            ended.resolve(())
        }
        return ended
    }

    /// Counts down to the answer after which the server is killed.
    private final class Countdown: Sendable {
        private let left: Mutex<Int>

        init(from count: Int) { left = Mutex(count) }

        /// Whether this call is the last of the count.
        func isOver() -> Bool {
            left.withLock { left in
                left -= 1
                return left == 0
            }
        }
    }
}
