import Foundation
import Testing

/// `squall plan` times out connections like `squall get`.
@Suite(.timeLimit(.minutes(5))) struct PlannedClientTests {
    private struct Prediction: Decodable {
        var outcome: String
        var seconds: Double
        var timeouts: Int
    }

    /// The fault of the first connection, and the client's time limit in seconds: for connecting, the first byte, the
    /// body, and the answer to an upload. The second connection follows within half a second.
    @Test(arguments: [
        (#"{ "kind": "connect", "how": "hang", "when": { "clock": "..9.9 s" } }"#, "downstream", 10.0...10.5),
        (
            #"{ "kind": "stall", "stream": "downstream", "at": "0 B", "for": "1 h", "when": { "connection": 1 } }"#,
            "downstream", 30.0...30.5
        ),
        (
            #"{ "kind": "stall", "stream": "downstream", "at": "9 KiB", "for": "1 h", "when": { "connection": 1 } }"#,
            "downstream", 15.0...18.5
        ),
        (
            #"{ "kind": "stall", "stream": "downstream", "at": "0 B", "for": "1 h", "when": { "connection": 1 } }"#,
            "upstream", 60.0...60.5
        ),
    ])
    func `a limit of the client ends a connection of the forecast`(
        fault: String,
        direction: String,
        seconds: ClosedRange<Double>
    ) async throws {
        try await withFolder { folder in
            let profile = #"{ "name": "slow", "faults": [ \#(fault) ] }"#
            try Data(profile.utf8).write(to: folder.appendingPathComponent("slow.json"))
            let outcome = try await squall(
                words: "plan ./slow.json --direction \(direction) --size 100KiB --seed 7 --events json",
                folder: folder
            )
            #expect(outcome.status == 0, "\(outcome.errors)")
            let prediction = try #require(try decoded(outcome.lines, as: Prediction.self).first)
            #expect(prediction.outcome == "complete")
            #expect(seconds.contains(prediction.seconds), "\(prediction.seconds)")
        }
    }
}
