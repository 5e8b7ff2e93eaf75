internal import Foundation
internal import SquallProxy

/// What the journal of a process tells.
struct ProcessJournal {
    /// A line; each kind of line has some of these.
    private struct Line: Decodable {
        var event: String?
        var time: String?
        var fault: String?
        var what: String?
        var connection: UInt64?
        var direction: String?
        var offset: Int64?
        var request: Int64?
        var target: String?
        var program: String?
        var outcome: String?
    }

    private(set) var faults: [FaultEvent] = []
    private(set) var connects: [TestProcess.Connect] = []

    /// Reads the lines of a journal that may still be written: the last one may be torn.
    init(_ text: String) {
        let (decoder, style) = (JSONDecoder(), Date.ISO8601FormatStyle(includingFractionalSeconds: true))
        var start: Date?
        for line in text.split(separator: "\n") {
            guard let line = try? decoder.decode(Line.self, from: Data(line.utf8)) else { continue }
            let time = line.time.flatMap { try? Date($0, strategy: style) }
            start = start ?? time
            if let target = line.target, let outcome = line.outcome {
                connects.append(TestProcess.Connect(target: target, program: line.program, outcome: outcome))
            }
            guard line.event == nil, let fault = line.fault, let what = line.what else { continue }
            // That a stream isn't HTTP is no fault.
            if what == FaultEvent.unreadWord { continue }
            let since = time.flatMap { time in start.map { time.timeIntervalSince($0) } } ?? 0
            faults.append(
                FaultEvent(
                    time: .milliseconds(Int64((since * 1_000).rounded())),
                    fault: fault,
                    effect: FaultEvent.Effect(rawValue: what),
                    connection: line.connection,
                    direction: line.direction.flatMap(FaultEvent.Direction.init(rawValue:)),
                    offset: line.offset,
                    request: line.request
                )
            )
        }
    }
}
