import FaultPlan
import FaultProfile
import Units

/// Reads along with the bytes of one connection, and finds the positions that its faults ask for.
///
/// Belongs to one loop. It never changes a byte. The head of a message is passed on once it is whole, so that what is
/// known of the message is known before its first byte passes.
public final class StreamReader {
    /// Requests whose responses haven't come yet, at most: 1,024. With more the stream is passed on unread.
    static let requestLimit = 1_024

    private var upstream: Side
    private var downstream: Side
    private let exchange: Exchange
    private var readsMessages: Bool
    /// Whether the client went on with something that is no request. The responses to those before are read still, and
    /// nothing behind them.
    private var hasLostRequests = false
    /// Whether there is nothing to find, and so nothing to be read.
    public private(set) var isIdle: Bool

    private struct Side {
        var scanner: MessageScanner
        var finders: [PatternFinder]
        var marks: [Mark] = []
        /// An unfinished head, when its first byte came, and when its last one did.
        var held: [UInt8] = []
        var began = Moment.zero
        var grew = Moment.zero
        var hasEnded = false

        init(_ start: StartLine, _ patterns: [(fault: Int, pattern: BytePattern)]) {
            scanner = MessageScanner(start)
            finders = patterns.map { PatternFinder($0.pattern, fault: $0.fault) }
        }

        /// Looks for these patterns from `offset` on, and for those that were looked for already where it is.
        mutating func follow(_ patterns: [(fault: Int, pattern: BytePattern)], from offset: Int64) {
            finders = patterns.map { entry in
                finders.first { $0.fault == entry.fault }
                    ?? PatternFinder(entry.pattern, fault: entry.fault, from: offset)
            }
        }

        /// When the unfinished head is let go; `distantFuture` where none is held, or nobody has to wait for it.
        var deadline: Moment {
            guard !held.isEmpty, !scanner.hasStopped else { return .distantFuture }
            return HeadTimeout.end(scanner.hasRead ? .whole : scanner.progress, began: began, grew: grew)
        }

        /// Whether there are held bytes that nobody has to wait for any more.
        var mustRelease: Bool { !held.isEmpty && scanner.hasStopped }

        /// Lets an unfinished head go whose time is over.
        mutating func timeAdvanced(to now: Moment) {
            if now >= deadline { scanner.giveUp(.lateHead) }
        }
    }

    /// What became of the bytes of a read.
    public struct Portion: Hashable, Sendable {
        /// How many of them may be passed on; they come first.
        public let count: Int
        /// Whether the others are to be read once the link has taken these; if not, they are held.
        public let hasMore: Bool
    }

    /// A reader of what `interest` names.
    public init(_ interest: StreamInterest) {
        readsMessages = interest.messages
        isIdle = interest.isNone
        exchange = Exchange(interest)
        upstream = Side(.request, interest.patterns[.upstream] ?? [])
        downstream = Side(.response, interest.patterns[.downstream] ?? [])
    }

    /// Finds what `interest` names from here on, where a link has taken so many bytes in each direction.
    ///
    /// Patterns are looked for from the next byte on. Messages are read on if they were read so far, or else from the
    /// first byte of the connection: in the middle of one nobody can tell where the next begins.
    public func follow(_ interest: StreamInterest, upstream up: Int64, downstream down: Int64) {
        upstream.follow(interest.patterns[.upstream] ?? [], from: up)
        downstream.follow(interest.patterns[.downstream] ?? [], from: down)
        exchange.follow(interest)
        if readsMessages, !interest.messages {
            // An unfinished head is let go.
            upstream.scanner.stop()
            downstream.scanner.stop()
        }
        readsMessages = interest.messages && (readsMessages || up == 0 && down == 0)
        rest()
    }

    /// Has nothing to read any more, once nothing is held.
    private func rest() {
        isIdle =
            !readsMessages && upstream.finders.isEmpty && downstream.finders.isEmpty && upstream.held.isEmpty
            && downstream.held.isEmpty
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

    /// Whether there are held bytes that nobody has to wait for any more: `read` has them passed on.
    public func mustRelease(_ direction: Direction) -> Bool {
        switch direction {
        case .upstream: upstream.mustRelease
        case .downstream: downstream.mustRelease
        }
    }

    /// When `timeAdvanced` is to be called at the latest; `distantFuture` where nothing is held.
    public func deadline(_ direction: Direction) -> Moment {
        switch direction {
        case .upstream: upstream.deadline
        case .downstream: downstream.deadline
        }
    }

    /// It is `now`: an unfinished head that wasn't whole in time won't be waited for.
    public func timeAdvanced(to now: Moment, _ direction: Direction) {
        switch direction {
        case .upstream: upstream.timeAdvanced(to: now)
        case .downstream: downstream.timeAdvanced(to: now)
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

    /// Reads `bytes`, the held ones first, at `now`, and tells `link` what it found.
    ///
    /// - Returns: how many of them may be passed on, and what is to be done with the others. The link has to have taken
    ///   those (`Link.nextAlteration`, `Link.bytesArrived`) before it is told of more.
    public func read(_ bytes: Span<UInt8>, _ direction: Direction, at now: Moment, into link: inout Link) -> Portion {
        defer { if !readsMessages { rest() } }
        switch direction {
        case .upstream: return readUpstream(bytes, at: now, into: &link)
        case .downstream: return readDownstream(bytes, at: now, into: &link)
        }
    }

    private func readUpstream(_ bytes: Span<UInt8>, at now: Moment, into link: inout Link) -> Portion {
        let exchange = exchange
        let count = StreamReader.scan(
            &upstream,
            readsMessages,
            bytes,
            isOver: { false },
            isExpected: { true },
            begin: { (head) throws(UnreadReason) in try exchange.request(head) }
        )
        let portion = StreamReader.finish(&upstream, bytes, count, at: now, &link)
        if upstream.scanner.hasStopped, !upstream.hasEnded { hasLostRequests = true }
        if hasLostRequests, !exchange.awaitsResponse, !downstream.scanner.isInMessage { downstream.scanner.stop() }
        return portion
    }

    private func readDownstream(_ bytes: Span<UInt8>, at now: Moment, into link: inout Link) -> Portion {
        let exchange = exchange
        let hasLostRequests = hasLostRequests
        let count = StreamReader.scan(
            &downstream,
            readsMessages,
            bytes,
            isOver: { hasLostRequests && !exchange.awaitsResponse },
            isExpected: { exchange.awaitsResponse },
            begin: { (head) throws(UnreadReason) in try exchange.response(head) }
        )
        if hasLostRequests, case .unreadable(let offset, _) = downstream.marks.last {
            // That the connection isn't HTTP was told already.
            downstream.marks[downstream.marks.count - 1] = .end(at: offset)
        }
        let portion = StreamReader.finish(&downstream, bytes, count, at: now, &link)
        if downstream.scanner.hasStopped, !downstream.hasEnded { upstream.scanner.stop() }
        return portion
    }

    private static func scan(
        _ side: inout Side,
        _ readsMessages: Bool,
        _ bytes: Span<UInt8>,
        isOver: () -> Bool,
        isExpected: () -> Bool,
        begin: (Span<UInt8>) throws(UnreadReason) -> Exchange.Head
    ) -> Int {
        guard readsMessages else { return bytes.count }
        return side.scanner.read(bytes, into: &side.marks, isOver: isOver, isExpected: isExpected, begin: begin)
    }

    /// Looks for patterns in the `count` bytes that may be passed on, tells the link, and keeps the others if they are an
    /// unfinished head.
    private static func finish(
        _ side: inout Side,
        _ bytes: Span<UInt8>,
        _ count: Int,
        at now: Moment,
        _ link: inout Link
    ) -> Portion {
        let hasMore = count < bytes.count && side.marks.count >= MessageScanner.markLimit
        for index in side.finders.indices { side.finders[index].read(bytes, count: count, into: &side.marks) }
        // Most reads have neither marks nor an unfinished head, and to empty an empty array counts a reference.
        if !side.marks.isEmpty {
            if side.finders.count > 0, side.marks.count > 1 { side.marks.sort { $0.offset < $1.offset } }
            for mark in side.marks { link.note(mark) }
            side.marks.removeAll(keepingCapacity: true)
        }
        if count > 0 || side.held.isEmpty {
            if !side.held.isEmpty { side.held.removeAll(keepingCapacity: true) }
            side.began = now
        }
        if !hasMore, count + side.held.count < bytes.count {
            side.grew = now
            for index in count + side.held.count..<bytes.count { side.held.append(bytes[index]) }
        }
        return Portion(count: count, hasMore: hasMore)
    }
}
