import Crypto
import HTTPSemantics
import HTTPTransport
import HTTPTypes
import NIOCore
import NIOHTTPTypes
import Synchronization
import TransferProtocol
import Units

@testable import TransferClient

/// A server with one file, and the network in between: both fail as a seed draws it.
///
/// It is honest: a tag or a digest that it tells belongs to the bytes, and a condition is kept to or ignored as a whole.
/// Everything else may go wrong.
final class SimulatedPeer: Sendable {
    /// What the server tells of its file.
    struct Habits: Sendable {
        /// Strong, weak, or none.
        var tag = 0
        var hasDate = true
        var tellsDigest = false
        /// By length, in chunks, or up to the end of the connection.
        var framing = 0
        var knowsRanges = true
        /// So many requests in a hundred go wrong, and so many change the file before.
        var faults: UInt64 = 60
        var changes: UInt64 = 0
    }

    private struct State {
        var random: SeededGenerator
        var versions: [[UInt8]]
        var requests = 0
        var repairs = 0
        /// From this request on everything works, and nothing changes.
        var calm: Int
    }

    let habits: Habits
    private let state: Mutex<State>

    init(seed: UInt64, habits: Habits, largest: Int, calm: Int) {
        self.habits = habits
        var random = SeededGenerator(seed: seed)
        let first = Self.content(&random, largest)
        state = Mutex(State(random: random, versions: [first], calm: calm))
    }

    private static func content(_ random: inout SeededGenerator, _ largest: Int) -> [UInt8] {
        let count = Int(random.next() % UInt64(largest + 1))
        return (0..<count).map { _ in UInt8(truncatingIfNeeded: random.next() >> 24) }
    }

    /// All that the file has been, the newest last.
    var versions: [[UInt8]] { state.withLock { $0.versions } }
    /// The requests for damaged blocks alone that were answered so.
    var repairs: Int { state.withLock { $0.repairs } }

    /// A response: its parts, and how the connection ends.
    struct Answer {
        var parts: [HTTPResponsePart]
        var error: (any Error)?
    }

    func answer(_ ask: RequestPlan) throws -> Answer {
        try state.withLock { state in
            state.requests += 1
            func chance(_ percent: UInt64) -> Bool {
                state.requests < state.calm && state.random.next() % 100 < percent
            }
            if chance(habits.changes), let newest = state.versions.last {
                var new = Self.content(&state.random, 3_000)
                // Often the change is small, or keeps the length.
                if state.random.next() % 2 == 0, !newest.isEmpty {
                    new = newest
                    new[Int(state.random.next() % UInt64(new.count))] ^= 0x55
                }
                if new != newest { state.versions.append(new) }
            }
            let fault = chance(habits.faults) ? Int(state.random.next() % 10) : -1
            if fault == 0 { throw AttemptError(cause: .connectTimedOut) }
            if fault == 1 { return Self.status(503) }
            guard let content = state.versions.last else { return Self.status(404) }
            var head = fields(content, number: state.versions.count)
            var (status, first, last) = (200, 0, content.count - 1)
            if let asked = range(ask), habits.knowsRanges, fault != 2, isUnchanged(ask, head) {
                guard asked.lowerBound < content.count || fault == 3 else {
                    head[.contentRange] = "bytes */\(content.count)"
                    head[.contentLength] = "0"
                    return Answer(parts: [.head(HTTPResponse(status: 416, headerFields: head)), .end(nil)])
                }
                status = 206
                first = min(asked.lowerBound, max(0, content.count - 1))
                last = min(content.count - 1, asked.upperBound - 1)
                // It begins too early, or ends too soon.
                if fault == 4 { first -= Int(state.random.next() % UInt64(first + 1)) }
                if fault == 5 { last -= Int(state.random.next() % UInt64(max(1, last - first + 1))) }
                head[.contentRange] = "bytes \(first)-\(last)/\(content.count)"
                // Some servers leave the validators out of a part.
                if fault == 6 { (head[.eTag], head[.lastModified]) = (nil, nil) }
            }
            var body = first <= last ? Array(content[first...last]) : []
            if ask == .probe { body = [] }
            let framing = status == 206 ? 0 : habits.framing
            switch framing {
            case 0: head[.contentLength] = "\(max(0, last - first + 1))"
            case 1: head[.transferEncoding] = "chunked"
            default: break
            }
            var error: (any Error)?
            if fault >= 7 {
                body = Array(body.prefix(Int(state.random.next() % UInt64(body.count + 1))))
                error = AttemptError(cause: .connectionLost("as the test wants it"))
            }
            if case .block = ask, status == 206 { state.repairs += 1 }
            var parts: [HTTPResponsePart] = [.head(HTTPResponse(status: .init(code: status), headerFields: head))]
            while !body.isEmpty {
                let piece = body.prefix(Int(1 + state.random.next() % 700))
                parts.append(.body(ByteBuffer(bytes: piece)))
                body.removeFirst(piece.count)
            }
            if error == nil { parts.append(.end(nil)) }
            return Answer(parts: parts, error: error)
        }
    }

    private static func status(_ status: Int) -> Answer {
        let head = HTTPResponse(status: .init(code: status), headerFields: [.contentLength: "0"])
        return Answer(parts: [.head(head), .end(nil)])
    }

    private func fields(_ content: [UInt8], number: Int) -> HTTPFields {
        var fields: HTTPFields = [.date: "Sun, 06 Nov 1994 08:59:37 GMT"]
        switch habits.tag {
        case 0: fields[.eTag] = "\"v\(number)\""
        case 1: fields[.eTag] = "W/\"v\(number)\""
        default: break
        }
        if habits.hasDate { fields[.lastModified] = "Sun, 06 Nov 1994 08:49:\(10 + number % 50) GMT" }
        if habits.tellsDigest, let digest = ReprDigest(sha256: Array(SHA256.hash(data: content))) {
            fields[.reprDigest] = digest.headerValue
        }
        return fields
    }

    private func range(_ ask: RequestPlan) -> Range<Int>? {
        switch ask {
        case .whole, .probe: nil
        case .rest(let first, _): Int(first)..<Int.max
        case .block(let range, _): Int(range.lowerBound)..<Int(range.upperBound)
        }
    }

    private func isUnchanged(_ ask: RequestPlan, _ head: HTTPFields) -> Bool {
        switch ask {
        case .rest(_, let validator), .block(_, let validator):
            [head[.eTag], head[.lastModified]].contains(validator.headerValue)
        case .whole, .probe: true
        }
    }
}

/// One request to a simulated peer.
struct SimulatedAttempt: DownloadAttempting {
    let peer: SimulatedPeer

    func perform<Outcome: Sendable>(
        _ ask: RequestPlan,
        at url: DownloadURL,
        with fields: [HTTPField],
        receive: (HTTPAttempt.Parts, HTTPProtocol) async throws -> Outcome
    ) async throws -> Outcome {
        let answer = try peer.answer(ask)
        let (parts, source) = HTTPAttempt.Parts.makeTestingStream()
        for part in answer.parts { source.yield(part) }
        source.finish(throwing: answer.error)
        return try await receive(parts, .http1)
    }
}
