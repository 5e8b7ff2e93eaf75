import Foundation
import Glibc
import TestSockets
import Testing

/// The folder of `squall serve --profiles`, with a state and without one.
@Suite(.timeLimit(.minutes(5))) struct ServedFolderTests {
    /// A running server.
    private struct Served {
        let child: Child
        let address: String
        let socket: TestSocket

        /// Makes a disabled proxy of a profile.
        func create(_ name: String, _ profile: String) throws {
            let body = #"{"name":"\#(name)","upstream":"127.0.0.1:9","enabled":false,"profile":"\#(profile)"}"#
            let made = try #require(socket.response(to: "POST /v1/proxies", body))
            #expect(made.status == 201, "\(made.body)")
        }

        /// The faults of a proxy, in words.
        func faults(of proxy: String) throws -> [String] {
            let answer = try #require(socket.response(to: "GET /v1/proxies/\(proxy)"))
            let object = try JSONSerialization.jsonObject(with: Data(answer.body.utf8)) as? [String: Any]
            return (object?["faults"] as? [[String: Any]] ?? []).compactMap { $0["text"] as? String }
        }

        /// Waits until the faults of a proxy are `wanted`, which it compares at each change.
        func wait(for wanted: [String], of proxy: String, _ events: Child) async throws {
            while try faults(of: proxy) != wanted { _ = try await events.line(with: "event: change") }
        }

        /// Runs `body` with a process that prints the event stream.
        func withEvents(_ body: (Child) async throws -> Void) async throws {
            try await withChild(Programs.find("curl"), ["-sN", "http://\(address)/v1/events"]) { events in
                _ = try await events.line(with: "event: server")
                try await body(events)
            }
        }
    }

    /// Runs a server in `folder` during `body`, and ends it.
    private func withServer(in folder: URL, _ options: [String], _ body: (Served) async throws -> Void) async throws {
        let arguments = ["serve", "--host", "127.0.0.1", "--port", "0"] + options
        try await withChild(Programs.squall, arguments, folder: folder) { child in
            let address = try await address(in: child.line(with: "ready: "))
            try await body(Served(child: child, address: address, socket: try TestSocket.connected(to: address)))
            child.signal(SIGTERM)
            #expect(await child.finish().status == 0)
        }
    }

    /// Writes a file below a folder.
    private func write(_ text: String, to path: String, in folder: URL) throws {
        let file = folder.appendingPathComponent(path)
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: file, options: .atomic)
    }

    private func latency(_ name: String, _ delay: String) -> String {
        #"{"name":"\#(name)","faults":[{"kind":"latency","delay":"\#(delay)"}]}"#
    }

    private static let traced = #"{"name":"t","faults":[{"kind":"trace","stream":"downstream","file":"t.trace"}]}"#

    @Test func `a profile that has changed while the server was down is in effect when it is ready`() async throws {
        try await withFolder { folder in
            let options = ["--state", "state.json", "--profiles", "served"]
            try write(latency("slow", "100 ms"), to: "served/slow.json", in: folder)
            try await withServer(in: folder, options) { try $0.create("db", "slow") }
            try write(latency("slow", "900 ms"), to: "served/slow.json", in: folder)
            try await withServer(in: folder, options) { server in
                let faults = try server.faults(of: "db")
                #expect(faults == ["latency 900 ms"])
            }
        }
    }

    @Test func `a change of a file that a profile names is applied as one of its own`() async throws {
        try await withFolder { folder in
            try write(latency("b", "10 ms"), to: "served/base/b.json", in: folder)
            try write(#"{"name":"x","extends":"base/b.json"}"#, to: "served/x.json", in: folder)
            try write(ServedFolderTests.traced, to: "served/t.json", in: folder)
            try write("1\n", to: "served/t.trace", in: folder)
            try await withServer(in: folder, ["--profiles", "served"]) { server in
                for name in ["x", "t"] { try server.create(name, name) }
                let trace = try server.faults(of: "t")
                try await server.withEvents { events in
                    try write(latency("b", "777 ms"), to: "served/base/b.json", in: folder)
                    try await server.wait(for: ["latency 777 ms"], of: "x", events)
                    try FileManager.default.removeItem(at: folder.appendingPathComponent("served/t.trace"))
                    #expect(try await events.line(with: "/t.trace").contains("/t.json:1:"))
                    #expect(try server.faults(of: "t") == trace, "the last good one")
                    try write("1\n1\n", to: "served/t.trace", in: folder)
                    while server.socket.response(to: "GET /v1/profiles")?.body.contains("/t.trace") == true {
                        _ = try await events.line(with: "event: change")
                    }
                }
            }
        }
    }

    @Test func `a folder with too many profiles is a problem once, until it has fewer`() async throws {
        try await withFolder { folder in
            for number in 1...256 { try write(latency("p\(number)", "1 ms"), to: "served/p\(number).json", in: folder) }
            try await withServer(in: folder, ["--profiles", "served"]) { server in
                try server.create("db", "p1")
                try await server.withEvents { events in
                    try write(latency("p1", "2 ms"), to: "served/p1.json", in: folder)
                    try write(latency("more", "1 ms"), to: "served/more.json", in: folder)
                    let complaint = "served” has more than 256 profiles"
                    #expect(try await server.child.errorLine(with: complaint).hasPrefix("squall: the folder “"))
                    #expect(try await events.line(with: complaint).hasPrefix("data: "))
                    try FileManager.default.removeItem(at: folder.appendingPathComponent("served/more.json"))
                    try await server.wait(for: ["latency 2 ms"], of: "db", events)
                }
                server.child.signal(SIGTERM)
                let errors = await server.child.finish().errors
                #expect(errors.components(separatedBy: "more than 256").count == 2, "\(errors)")
            }
        }
    }

    @Test func `a state with a trace starts from any working directory, and by name where the folder has moved`()
        async throws
    {
        try await withFolder { folder in
            let state = folder.appendingPathComponent("state.json").path
            let place = folder.appendingPathComponent("served").path
            let other = folder.appendingPathComponent("other")
            try FileManager.default.createDirectory(at: other, withIntermediateDirectories: true)
            try write(ServedFolderTests.traced, to: "served/t.json", in: folder)
            try write("1\n", to: "served/t.trace", in: folder)
            try await withServer(in: folder, ["--state", state, "--profiles", "served"]) { try $0.create("db", "t") }
            #expect(try String(contentsOfFile: state, encoding: .utf8).contains(#""\#(place)/t.trace""#))
            func check(_ path: String) async throws {
                try await withServer(in: other, ["--state", state, "--profiles", path]) { server in
                    let faults = try server.faults(of: "db")
                    #expect(faults.count == 1 && faults[0].contains("\(path)/t.trace"), "\(faults)")
                }
            }
            try await check(place)
            try await check("../served")
            let moved = folder.appendingPathComponent("moved").path
            try FileManager.default.moveItem(atPath: place, toPath: moved)
            try await check(moved)
        }
    }
}
