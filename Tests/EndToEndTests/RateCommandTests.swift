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
        let size = 200_000
        try await withOrigin(size: size, isSecure: isSecure, takesUploads: true) { origin in
            let options = ["--limit-rate", "4 Mbit/s", "--events", "json"]
            let trust = isSecure ? ["--ca-file", origin.authority] : []
            let arguments =
                command == "get"
                ? ["get", "\(origin.url)/file.bin", "-o", "received.bin"]
                : ["put", "file.bin", "\(origin.url)/put.bin", "--state", "state"]
            let outcome = try await squall(arguments + options + trust, folder: origin.folder)
            #expect(outcome.status == 0, "\(outcome.errors)")
            let last = try #require(try decoded(outcome.lines, as: Finished.self).last)
            #expect(last.event == "finished")
            #expect(last.bytes == Int64(size))
            #expect(try #require(last.seconds) >= 0.4)
        }
    }
}
