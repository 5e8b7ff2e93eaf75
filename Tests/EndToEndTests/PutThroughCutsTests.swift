import Foundation
import Glibc
import Testing
import Units

/// `squall put` to `squall origin --uploads` through frequent cuts.
@Suite(.timeLimit(.minutes(5))) struct PutThroughCutsTests {
    private struct ReportedEvent: Decodable {
        var event: String
        var acknowledged: Int64?
        var bytes: Int64?
        var bytesRepeated: Int64?
        var continued: Bool?
        var dialect: Int?
        var offset: Int64?
        var proof: String?
        var restarts: Int?
        var resumptions: Int?
    }

    /// Runs an origin with uploads during `body`, which gets its address and the upload folder.
    private func withUploads<Result>(_ body: (String, URL) async throws -> Result) async throws -> Result {
        try await withUploadingOrigin(size: 0) { try await body($1, $0) }
    }

    /// Uploads `content` through a proxy with `faults`, verifies it, and returns the events.
    private func upload(
        _ content: Data,
        faults: String,
        seed: UInt64 = 1,
        _ options: [String] = []
    ) async throws -> [ReportedEvent] {
        try await withUploads { origin, folder in
            let profile = "{ \"name\": \"cuts\", \"seed\": \(seed), \"faults\": [ \(faults) ] }"
            return try await withProxy(profile, to: origin) { _, address in
                try await withFolder { own in
                    try content.write(to: own.appendingPathComponent("file.bin"))
                    let arguments = [
                        "put", "file.bin", "http://\(address)/new.bin", "--state", "state", "--events", "json",
                        "--seed",
                        "\(seed)",
                    ]
                    let outcome = try await squall(arguments + options, folder: own)
                    #expect(outcome.status == 0, "\(outcome.errors)")
                    let arrived = try? Data(contentsOf: folder.appendingPathComponent("new.bin"))
                    #expect(arrived == content, "\(arrived?.count ?? -1) of \(content.count) bytes")
                    #expect(try FileManager.default.contentsOfDirectory(atPath: own.path + "/state").isEmpty)
                    return try decoded(outcome.lines, as: ReportedEvent.self)
                }
            }
        }
    }

    /// Checks that offsets reported by the server never decrease, across runs that resume the upload.
    private func expectNoStepBack(_ events: [ReportedEvent]) {
        var told: Int64 = 0
        for event in events {
            if event.event == "restarted" || event.continued == false { told = 0 }
            guard let offset = event.offset ?? event.acknowledged else { continue }
            #expect(offset >= told, "\(event.event) at \(offset), after \(told)")
            told = max(told, offset)
        }
    }

    @Test(arguments: ["3", "5", "6", "8", "9", "10", "auto"], ["reset", "close"])
    func `an upload in every dialect resumes after each cut`(dialect: String, how: String) async throws {
        let faults = #"{ "kind": "cut", "stream": "upstream", "every": "64 KiB", "how": "\#(how)" }"#
        let events = try await upload(bytes(600_000), faults: faults, ["--dialect", dialect])
        let finished = try #require(events.last)
        #expect(finished.event == "finished")
        #expect(finished.dialect == Int(dialect) ?? 10)
        #expect(finished.restarts == 0)
        #expect(try #require(finished.resumptions) >= 600_000 >> 16)
        #expect(finished.proof == "digest")
        expectNoStepBack(events)
    }

    @Test(arguments: ["reset", "close"])
    func `an ordinary upload is sent again after a cut`(how: String) async throws {
        let faults =
            #"{ "kind": "cut", "stream": "upstream", "at": ["64 KiB", "300 KiB"], "how": "\#(how)" }"#
        let events = try await upload(bytes(600_000), faults: faults, ["--dialect", "none"])
        let finished = try #require(events.last)
        #expect(finished.event == "finished" && finished.dialect == nil && finished.resumptions == 0)
        #expect(events.filter { $0.event == "retrying" }.count == 2)
        #expect(finished.proof == "digest")
    }

    @Test(arguments: ["3", "5", "6", "8", "9", "10"])
    func `an upload whose responses are lost is complete nevertheless`(dialect: String) async throws {
        // The 104 arrives, but not the final response of the first two requests with content.
        let faults = """
            { "kind": "cut", "stream": "upstream", "every": "200 KiB" },
            { "kind": "cut", "stream": "downstream", "at": "200 B", "when": { "connection": { "every": 3 } } }
            """
        let events = try await upload(bytes(500_000), faults: faults, ["--dialect", dialect])
        #expect(events.last?.event == "finished")
        expectNoStepBack(events)
    }

    @Test(arguments: 1...10)
    func `a seeded network that cuts at random finishes every download and every upload`(seed: UInt64) async throws {
        var generator = SeededGenerator(seed: seed)
        func faults(_ stream: String) -> String {
            // Offsets with a mean of 64 KiB: most are shorter, some much longer.
            let offsets = (0..<200).map { _ in
                let chance = Double(generator.next() >> 11) / Double(1 << 53)
                return "\"\(1 + Int(-65_536 * log(1 - chance))) B\""
            }
            let how = generator.next().isMultiple(of: 2) ? "reset" : "close"
            let list = offsets.joined(separator: ", ")
            return #"{ "kind": "cut", "stream": "\#(stream)", "at": [\#(list)], "how": "\#(how)" }"#
        }
        let size = 200_000 + Int(generator.next() % 400_000)
        let uploaded = try await upload(bytes(size), faults: faults("upstream"), seed: seed)
        #expect(uploaded.last?.event == "finished")
        expectNoStepBack(uploaded)
        let profile = #"{ "name": "cuts", "seed": \#(seed), "faults": [ \#(faults("downstream")) ] }"#
        try await withOrigin(size: size) { origin in
            try await withProxy(profile, to: origin) { _, address in
                try await withFolder { folder in
                    let outcome = try await squall(
                        words: "get http://\(address)/file.bin --events json --seed \(seed)",
                        folder: folder
                    )
                    #expect(outcome.status == 0, "\(outcome.errors)")
                    let finished = try #require(try decoded(outcome.lines, as: ReportedEvent.self).last)
                    #expect(finished.event == "finished" && finished.proof == "digest")
                    // Each connection that continues repeats at most 64 KiB.
                    #expect(finished.bytesRepeated ?? .max <= Int64(finished.resumptions ?? 0) << 16)
                    #expect(try Data(contentsOf: folder.appendingPathComponent("file.bin")) == bytes(size))
                }
            }
        }
    }

    @Test func `an upload finishes although the client and the server are killed again and again`() async throws {
        var generator = SeededGenerator(seed: 5)
        let content = bytes(12_000_000)
        let cut = #"{ "kind": "cut", "stream": "upstream", "every": "400 KiB" }"#
        // A minute for the kills, also on a busy machine. The rate is taken away for the end.
        let slow = #"{ "kind": "bandwidth", "rate": "200 kB/s", "shared": true }"#
        try await withFolder { folder in
            let profile = folder.appendingPathComponent("slow.json")
            try Data(#"{ "name": "slow", "faults": [ \#(slow), \#(cut) ] }"#.utf8).write(to: profile)
            try content.write(to: folder.appendingPathComponent("file.bin"))
            let uploads = folder.appendingPathComponent("uploads")
            try FileManager.default.createDirectory(at: uploads, withIntermediateDirectories: false)
            func origin(port: String) throws -> Child {
                try Child(Programs.squall, ["origin", uploads.path, "--uploads", uploads.path, "--port", port])
            }
            var server = try origin(port: "0")
            defer { server.signal(SIGKILL) }
            let place = try await address(in: server.line(with: "ready: "))
            let port = try #require(place.split(separator: ":").last.map(String.init))
            try await withProxy(profile.path, to: place) { proxy, address in
                let arguments = [
                    "put", "file.bin", "http://\(address)/new.bin", "--state", "state", "--events", "json",
                    "--attempts",
                    "1000",
                ]
                var lines: [String] = []
                var kills = 0
                var isFinished = false
                for _ in 0..<12 where !isFinished {
                    let isClient = generator.next().isMultiple(of: 2)
                    try await withChild(Programs.squall, arguments, folder: folder) { client in
                        for _ in 0...(generator.next() % 2) { _ = try? await client.line(with: "progress") }
                        if !isClient {
                            server.signal(SIGKILL)
                            _ = await server.finish()
                            server = try origin(port: port)
                            _ = try await server.line(with: "ready: ")
                            // It continues with the new one automatically.
                            _ = try? await client.line(with: "resumed")
                        }
                        client.signal(SIGKILL)
                        let outcome = await client.finish()
                        // The last line may be incomplete.
                        lines += outcome.lines.filter { $0.hasSuffix("}") }
                        isFinished = outcome.status == 0
                        kills += isFinished ? 0 : 1
                    }
                }
                try Data(#"{ "name": "slow", "faults": [ \#(cut) ] }"#.utf8).write(to: profile)
                proxy.signal(SIGHUP)
                _ = try await proxy.line(with: "reloaded: ")
                let last = try await squall(arguments, folder: folder)
                #expect(last.status == 0, "\(last.errors)")
                expectNoStepBack(try decoded(lines + last.lines, as: ReportedEvent.self))
                #expect(kills >= 2)
                #expect(lines.filter { $0.contains("\"continued\":true") }.count >= kills / 2)
            }
            #expect(try Data(contentsOf: uploads.appendingPathComponent("new.bin")) == content)
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path + "/state").isEmpty)
        }
    }
}
