import FaultPlan
import FaultProfile
import NIOHTTP1

/// Reads along with the bytes of one connection, and finds the positions that its faults ask for.
///
/// Belongs to one loop. It never changes a byte. The head of a message is passed on once it is whole, so that what is
/// known of the message is known before its first byte passes.
public final class StreamReader {
    /// Requests whose responses haven't come yet, at most: 1,024. With more the stream is passed on unread.
    static let requestLimit = 1_024

    private var upstream: Side
    private var downstream: Side
    private let exchange = Exchange()
    private let readsMessages: Bool
    /// Whether the client went on with something that is no request. The responses to those before are read still, and
    /// nothing behind them.
    private var hasLostRequests = false
    /// Whether there is nothing to find, and so nothing to be read.
    public let isIdle: Bool

    private struct Side {
        var scanner = MessageScanner()
        var finders: [PatternFinder]
        var marks: [Mark] = []
        /// An unfinished head.
        var held: [UInt8] = []
        var hasEnded = false

        init(_ patterns: [(fault: Int, pattern: BytePattern)]) {
            finders = patterns.map { PatternFinder($0.pattern, fault: $0.fault) }
        }
    }

    /// A reader of what `interest` names.
    public init(_ interest: StreamInterest) {
        readsMessages = interest.messages
        isIdle = interest.isNone
        upstream = Side(interest.patterns[.upstream] ?? [])
        downstream = Side(interest.patterns[.downstream] ?? [])
    }

    /// The bytes of an unfinished head, which are to be put in front of what is read next.
    public func held(_ direction: Direction) -> [UInt8] {
        switch direction {
        case .upstream: upstream.held
        case .downstream: downstream.held
        }
    }

    /// How many bytes of an unfinished head are held.
    public func heldCount(_ direction: Direction) -> Int {
        switch direction {
        case .upstream: upstream.held.count
        case .downstream: downstream.held.count
        }
    }

    /// Whether there are held bytes that nobody has to wait for any more.
    public func mustRelease(_ direction: Direction) -> Bool {
        switch direction {
        case .upstream: !upstream.held.isEmpty && upstream.scanner.hasStopped
        case .downstream: !downstream.held.isEmpty && downstream.scanner.hasStopped
        }
    }

    /// Whether every request before the one of this number, from 1, has had its whole final response.
    public func hasAnswered(requestsBefore request: Int64) -> Bool {
        !exchange.awaitsResponse(before: request) && !downstream.scanner.isInMessage
    }

    /// The method of a request without a response, by its number.
    func method(of request: Int64) -> String? { exchange.method(of: request) }

    /// The stream has ended: an unfinished head won't be finished.
    public func sourceEnded(_ direction: Direction) {
        switch direction {
        case .upstream:
            upstream.hasEnded = true
            upstream.scanner.stop()
        case .downstream:
            downstream.hasEnded = true
            downstream.scanner.stop()
            exchange.abandon()
        }
    }

    /// Reads `bytes`, the held ones first, and tells `link` what it found.
    ///
    /// - Returns: how many of them may be passed on; the others are held now.
    public func read(_ bytes: Span<UInt8>, _ direction: Direction, into link: inout Link) -> Int {
        switch direction {
        case .upstream: return readUpstream(bytes, into: &link)
        case .downstream: return readDownstream(bytes, into: &link)
        }
    }

    private func readUpstream(_ bytes: Span<UInt8>, into link: inout Link) -> Int {
        let exchange = exchange
        let ready = StreamReader.scan(
            &upstream,
            readsMessages,
            bytes,
            isOver: { false },
            begin: { exchange.request($0) },
            isPossible: { HeadShape.mayBeRequest($0) }
        )
        StreamReader.finish(&upstream, bytes, ready, &link)
        if upstream.scanner.hasStopped, !upstream.hasEnded { hasLostRequests = true }
        if hasLostRequests, !exchange.awaitsResponse, !downstream.scanner.isInMessage { downstream.scanner.stop() }
        return ready
    }

    private func readDownstream(_ bytes: Span<UInt8>, into link: inout Link) -> Int {
        let exchange = exchange
        let hasLostRequests = hasLostRequests
        let ready = StreamReader.scan(
            &downstream,
            readsMessages,
            bytes,
            isOver: { hasLostRequests && !exchange.awaitsResponse },
            begin: { exchange.response($0) },
            isPossible: { exchange.awaitsResponse && HeadShape.mayBeResponse($0) }
        )
        if hasLostRequests, case .unreadable(let offset) = downstream.marks.last {
            // That the connection isn't HTTP was told already.
            downstream.marks[downstream.marks.count - 1] = .end(at: offset)
        }
        StreamReader.finish(&downstream, bytes, ready, &link)
        if downstream.scanner.hasStopped, !downstream.hasEnded { upstream.scanner.stop() }
        return ready
    }

    private static func scan(
        _ side: inout Side,
        _ readsMessages: Bool,
        _ bytes: Span<UInt8>,
        isOver: () -> Bool,
        begin: (Span<UInt8>) -> (message: Message, framing: Framing)?,
        isPossible: (Span<UInt8>) -> Bool
    ) -> Int {
        guard readsMessages else { return bytes.count }
        return side.scanner.read(bytes, into: &side.marks, isOver: isOver, begin: begin, isPossible: isPossible)
    }

    private static func finish(_ side: inout Side, _ bytes: Span<UInt8>, _ ready: Int, _ link: inout Link) {
        for index in side.finders.indices { side.finders[index].read(bytes, count: ready, into: &side.marks) }
        if side.finders.count > 0, side.marks.count > 1 { side.marks.sort { $0.offset < $1.offset } }
        for mark in side.marks { link.note(mark) }
        side.marks.removeAll(keepingCapacity: true)
        if side.held.isEmpty, ready == bytes.count { return }
        side.held.removeAll(keepingCapacity: true)
        for index in ready..<bytes.count { side.held.append(bytes[index]) }
    }
}
