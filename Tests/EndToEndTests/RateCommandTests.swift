import Foundation
import Testing

/// `--limit-rate` of `squall get` and `squall put`.
@Suite(.timeLimit(.minutes(5))) struct RateCommandTests {
    private struct Finished: Decodable {
        var event: String
        var seconds: Double?
        var bytes: Int64?
    }

    @Test(arguments: ["get", "put"], [false, true])
    func `a transfer takes the time of its rate, by TLS as well`(command: String, isSecure: Bool) async throws {
        try await withFolder { folder in
            let size = 200_000
            let served = folder.appendingPathComponent("served")
            try FileManager.default.createDirectory(at: served, withIntermediateDirectories: true)
            try bytes(size).write(to: served.appendingPathComponent("file.bin"))
            try bytes(size).write(to: folder.appendingPathComponent("sent.bin"))
            let origin = ["origin", served.path, "--uploads", served.path] + (isSecure ? ["--tls-self-signed"] : [])
            let environment = ["TMPDIR": folder.path]
            try await withChild(Programs.squall, origin, environment: environment, folder: folder) { child in
                var options = ["--limit-rate", "4 Mbit/s", "--events", "json"]
                if isSecure {
                    let trust = try await child.line(with: "trust: ").split(separator: " ")
                    options += ["--ca-file", try #require(trust.dropFirst().first.map(String.init))]
                }
                let host = "\(isSecure ? "https" : "http")://\(try await address(in: child.line(with: "ready: ")))"
                let arguments =
                    command == "get"
                    ? ["get", "\(host)/file.bin", "-o", "received.bin"]
                    : ["put", "sent.bin", "\(host)/put.bin", "--state", "state"]
                let outcome = try await withChild(Programs.squall, arguments + options, folder: folder) {
                    await $0.finish()
                }
                #expect(outcome.status == 0, "\(outcome.errors)")
                let last = try #require(try decoded(outcome.lines, as: Finished.self).last)
                #expect(last.event == "finished")
                #expect(last.bytes == Int64(size))
                #expect(try #require(last.seconds) >= 0.4)
            }
        }
    }
}
