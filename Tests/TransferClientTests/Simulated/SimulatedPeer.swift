import Digests
import HTTPSemantics
import HTTPTransport
import HTTPTypes
import NIOCore
import NIOHTTPTypes
import Synchronization
import TransferProtocol
import Units

@testable import TransferClient

/// A server with one file and its network; both fail according to a seed.
///
/// It is honest: its tags and digests match the bytes, and conditions are honoured or ignored as a whole. Everything
/// else may fail.
final class SimulatedPeer: Sendable {
    /// The metadata that the server sends.
    struct Habits: Sendable {
        /// Strong, weak, or none.
        var tag = 0
        var hasDate = true
        var sendsDigest = false
        /// By length, in chunks, or up to the end of the connection.
        var framing = 0
        var knowsRanges = true
        /// The percentage of requests that fail, and of those preceded by a change of the file.
        var faults: UInt64 = 60
        var changes: UInt64 = 0
    }

    private struct State {
        var random: SeededGenerator
        var versions: [[UInt8]]
        var requests = 0
        var repairs = 0
        /// From this request on everything works and the file is stable.
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

    /// All versions of the file, newest last.
    var versions: [[UInt8]] { state.withLock { $0.versions } }
    /// The number of answered requests for damaged blocks.
    var repairs: Int { state.withLock { $0.repairs } }

    /// A response: its parts, and how the connection ends.
    struct Response {
        var parts: [HTTPResponsePart]
        var error: (any Error)?
    }

    func response(_ request: HTTPRequest) throws -> Response {
        try state.withLock { state in
            state.requests += 1
            func chance(_ percent: UInt64) -> Bool {
                state.requests < state.calm && state.random.next() % 100 < percent
            }
            if chance(habits.changes), let newest = state.versions.last {
                var new = Self.content(&state.random, 3_000)
                // Most changes are small, or keep the length.
                if state.random.next() % 2 == 0, !newest.isEmpty {
                    new = newest
                    new[Int(state.random.next() % UInt64(new.count))] ^= 0x55
                }
                if new != newest { state.versions.append(new) }
            }
            let fault = chance(habits.faults) ? Int(state.random.next() % 10) : -1
            if fault == 0 { throw TransientFailure.connectTimedOut }
            if fault == 1 { return Self.status(503) }
            guard let content = state.versions.last else { return Self.status(404) }
            var head = fields(content, number: state.versions.count)
            var (status, first, last) = (200, 0, content.count - 1)
            let requested = Self.range(request)
            if let requested, habits.knowsRanges, fault != 2, Self.isUnchanged(request, head) {
                guard requested.lowerBound < content.count || fault == 3 else {
                    head[.contentRange] = "bytes */\(content.count)"
                    head[.contentLength] = "0"
                    return Response(parts: [.head(HTTPResponse(status: 416, headerFields: head)), .end(nil)])
                }
                status = 206
                first = min(requested.lowerBound, max(0, content.count - 1))
                last = min(content.count - 1, requested.upperBound - 1)
                // Starts too early, or ends too soon.
                if fault == 4 { first -= Int(state.random.next() % UInt64(first + 1)) }
                if fault == 5 { last -= Int(state.random.next() % UInt64(max(1, last - first + 1))) }
                head[.contentRange] = "bytes \(first)-\(last)/\(content.count)"
                // Some servers omit validators from a 206.
                if fault == 6 { (head[.eTag], head[.lastModified]) = (nil, nil) }
            }
            var body = first <= last ? Array(content[first...last]) : []
            if request.method == .head { body = [] }
            let framing = status == 206 ? 0 : habits.framing
            switch framing {
            case 0: head[.contentLength] = "\(max(0, last - first + 1))"
            case 1: head[.transferEncoding] = "chunked"
            default: break
            }
            var error: (any Error)?
            if fault >= 7 {
                body = Array(body.prefix(Int(state.random.next() % UInt64(body.count + 1))))
                error = TransientFailure.connectionLost("as the test wants it")
            }
            if let requested, requested.upperBound < Int.max, status == 206 { state.repairs += 1 }
            var parts: [HTTPResponsePart] = [.head(HTTPResponse(status: .init(code: status), headerFields: head))]
            while !body.isEmpty {
                let piece = body.prefix(Int(1 + state.random.next() % 700))
                parts.append(.body(ByteBuffer(bytes: piece)))
                body.removeFirst(piece.count)
            }
            if error == nil { parts.append(.end(nil)) }
            return Response(parts: parts, error: error)
        }
    }

    private static func status(_ status: Int) -> Response {
        let head = HTTPResponse(status: .init(code: status), headerFields: [.contentLength: "0"])
        return Response(parts: [.head(head), .end(nil)])
    }

    private func fields(_ content: [UInt8], number: Int) -> HTTPFields {
        var fields: HTTPFields = [.date: "Sun, 06 Nov 1994 08:59:37 GMT"]
        switch habits.tag {
        case 0: fields[.eTag] = "\"v\(number)\""
        case 1: fields[.eTag] = "W/\"v\(number)\""
        default: break
        }
        if habits.hasDate { fields[.lastModified] = "Sun, 06 Nov 1994 08:49:\(10 + number % 50) GMT" }
        if habits.sendsDigest, let digest = ReprDigest(sha256: SHA256.hash(content)) {
            fields[.reprDigest] = digest.headerValue
        }
        return fields
    }

    /// The range of a request: the rest from an offset on, or the block of a repair.
    private static func range(_ request: HTTPRequest) -> Range<Int>? {
        guard let field = request.headerFields[.range] else { return nil }
        let numbers = field.dropFirst("bytes=".count).split(separator: "-").compactMap { Int($0) }
        return numbers[0]..<(numbers.count > 1 ? numbers[1] + 1 : Int.max)
    }

    private static func isUnchanged(_ request: HTTPRequest, _ head: HTTPFields) -> Bool {
        if let validator = request.headerFields[.ifRange] {
            return [head[.eTag], head[.lastModified]].contains(validator)
        }
        return request.headerFields[.ifUnmodifiedSince].map { $0 == head[.lastModified] } ?? true
    }
}

/// The connections to a simulated peer.
struct SimulatedConnections: RequestSending {
    let peer: SimulatedPeer

    func send<Outcome: Sendable>(
        _ request: HTTPRequest,
        to url: TransferURL,
        _ content: UploadBodyWriter?,
        within remaining: Duration?,
        receive: (ResponseParts, HTTPProtocol) async throws -> Outcome
    ) async throws -> Outcome {
        let response = try peer.response(request)
        let (parts, source) = ResponseParts.makeTestingStream()
        for part in response.parts { source.yield(part) }
        source.finish(throwing: response.error)
        return try await receive(parts, .http1)
    }
}
