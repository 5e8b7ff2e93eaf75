import FaultPlan
import FaultProfile
import Units

/// Reads the bytes of one connection and finds the positions that its faults need.
///
/// Belongs to one loop and never changes a byte. The head of a message is passed on when complete, so that the message is
/// known before its first byte passes.
public final class StreamReader {
    /// The most pending requests: 1,024. With more the stream is passed on unread.
    static let requestLimit = 1_024

    private var upstream: Side
    private var downstream: Side
    private let exchange: Exchange
    private var readsMessages: Bool
    /// The search for the first request of a stream that is read from its middle on, until it is found.
    private var search: MessageSearch?
    /// Whether the client sent something that isn't a request. Only the responses to earlier requests are still read.
    private var hasLostRequests = false
    /// The end of the only request that may be forwarded; `nil` without that limit.
    private var boundary: RequestBoundary?
    /// Has the response to that request say that the connection ends; `nil` after its head.
    private var closing: ClosingResponse?
    /// Whether nothing needs to be read.
    public private(set) var isIdle: Bool
    /// The messages since the last `takeResumptions` whose content begins inside its resource, if the interest is in them.
    private var resumptions: [Message] = []
    private var notesResumptions: Bool

    private struct Side {
        var scanner: MessageScanner
        var finders: [PatternFinder]
        var marks: [Mark] = []
        /// An unfinished head, and when its first and last bytes came.
        var held: [UInt8] = []
        var began = Moment.zero
        var grew = Moment.zero
        var hasEnded = false

        init(_ start: StartLine, _ patterns: [(fault: Int, pattern: BytePattern)]) {
            scanner = MessageScanner(start)
            finders = patterns.map { PatternFinder($0.pattern, fault: $0.fault) }
        }

        /// Searches for these patterns, new ones from `offset` on.
        mutating func apply(_ patterns: [(fault: Int, pattern: BytePattern)], from offset: Int64) {
            finders = patterns.map { entry in
                finders.first { $0.fault == entry.fault }
                    ?? PatternFinder(entry.pattern, fault: entry.fault, from: offset)
            }
        }

        /// The deadline of the unfinished head; `distantFuture` if none is held or it needn't be waited for.
        var deadline: Moment {
            // Mutating: a chunk must not copy the side to know.
            mutating get {
                guard !held.isEmpty, !scanner.passesAll else { return .distantFuture }
                return HeadTimeout.end(scanner.hasRead ? .whole : scanner.progress, began: began, grew: grew)
            }
        }

        /// Whether held bytes may be released.
        var mustRelease: Bool { !held.isEmpty && scanner.passesAll }

        /// Gives up an unfinished head after its deadline.
        mutating func timeAdvanced(to now: Moment) {
            if now >= deadline { scanner.giveUp(.lateHead) }
        }
    }

    /// The result of a read.
    public struct Portion: Hashable, Sendable {
        /// How many bytes may be passed on, from the first.
        public let count: Int
        /// Whether the rest is to be read again after the link has taken these; if not, it is held.
        public let hasMore: Bool
    }

    /// Makes a reader for `interest`.
    public init(_ interest: StreamInterest) {
        readsMessages = interest.messages
        notesResumptions = interest.resumptions
        isIdle = interest.isNone
        exchange = Exchange(interest)
        upstream = Side(.request, interest.patterns[.upstream] ?? [])
        downstream = Side(.response, interest.patterns[.downstream] ?? [])
    }

    /// Reads for another interest from here on, with the bytes taken by the links in each direction.
    ///
    /// Patterns are searched for from the next byte on. Messages that weren't read so far are read from the next request
    /// on, which has the number 1, because message boundaries are unknown in the middle of a stream.
    public func apply(_ interest: StreamInterest, upstream up: Int64, downstream down: Int64) {
        upstream.apply(interest.patterns[.upstream] ?? [], from: up)
        downstream.apply(interest.patterns[.downstream] ?? [], from: down)
        exchange.apply(interest)
        if readsMessages, !interest.messages {
            // Gives up an unfinished head.
            upstream.scanner.stop()
            downstream.scanner.stop()
            search = nil
        }
        if interest.messages, !readsMessages { beginSearch(upstream: up, downstream: down) }
        readsMessages = interest.messages
        notesResumptions = interest.resumptions
        rest()
    }

    /// Has messages be read from the next request on, in a connection with these bytes taken by the links.
    private func beginSearch(upstream up: Int64, downstream down: Int64) {
        upstream.scanner = MessageScanner(.request, waitingAt: up)
        downstream.scanner = MessageScanner(.response, waitingAt: down)
        exchange.restart()
        hasLostRequests = false
        search = MessageSearch()
        // Nothing has been passed, so the first bytes are a request.
        if up == 0, down == 0 { handle(.request) }
    }

    /// Ends the search if it is successful or has failed; a token that may begin a request is held meanwhile.
    private func handle(_ finding: MessageSearch.Finding) {
        switch finding {
        case .token:
            upstream.scanner.join()
        case .nothing:
            upstream.scanner = MessageScanner(.request, waitingAt: upstream.scanner.offset)
        case .request:
            upstream.scanner.join()
            downstream.scanner.join()
            search = nil
        case .failure:
            upstream.scanner.giveUp(.notHTTP)
            downstream.scanner.stop()
            search = nil
        }
    }

    /// How far the messages of the connection are known.
    public var messages: MessageReading {
        guard readsMessages else { return .unneeded }
        if search != nil { return .awaited }
        return upstream.scanner.hasStopped && !upstream.hasEnded ? .unreadable : .read
    }

    /// The messages since the last call whose content begins inside its resource, if the interest is in them.
    public func takeResumptions() -> [Message] {
        guard !resumptions.isEmpty else { return [] }
        defer { resumptions = [] }
        return resumptions
    }

    /// Stops reading once nothing is held.
    private func rest() {
        isIdle =
            !readsMessages && upstream.finders.isEmpty && downstream.finders.isEmpty && upstream.held.isEmpty
            && downstream.held.isEmpty && boundary == nil
    }

    /// Has `admit` find the end of the only request that may be forwarded, whose head has been read, and `announceEnd` tell
    /// the client that no other may follow.
    public func forwardOnly(_ boundary: RequestBoundary) {
        self.boundary = boundary
        closing = ClosingResponse()
        isIdle = false
    }

    /// Whether the server's next bytes go through `announceEnd`.
    public var announcesEnd: Bool { closing != nil }

    /// The bytes for the client in place of the server's next `bytes`, none of them held before; see `ClosingResponse`.
    public func announceEnd(_ bytes: Span<UInt8>) -> [UInt8] {
        guard let passed = closing?.read(bytes) else { preconditionFailure("the end is announced once") }
        if closing?.isOver == true { closing = nil }
        return passed
    }

    /// The unfinished head of a response whose server has ended; empty if there is none.
    public func takeUnfinishedResponse() -> [UInt8] {
        defer { closing = nil }
        return closing?.takeHeld() ?? []
    }

    /// Whether the client's stream ends here for the server: the content of the only request that may be forwarded can't be
    /// read, or another request has come although the response said that none may follow. One that has come before is dropped
    /// alone, because many servers take an end for a client that no longer waits for its response.
    public var endsRequests: Bool {
        guard let boundary else { return false }
        return boundary.isUnreadable || boundary.isExceeded && !announcesEnd
    }

    /// The number of `bytes` of a client, none of them held before, that may be forwarded; the others must be dropped.
    public func admit(_ bytes: Span<UInt8>) -> Int { boundary?.admit(bytes) ?? bytes.count }

    /// The held bytes of an unfinished head, to be put in front of the next read.
    public func held(_ direction: Direction) -> [UInt8] {
        switch direction {
        case .upstream: upstream.held
        case .downstream: downstream.held
        }
    }

    /// The number of held bytes.
    public func heldCount(_ direction: Direction) -> Int {
        switch direction {
        case .upstream: upstream.held.count
        case .downstream: downstream.held.count
        }
    }

    /// Whether held bytes may be released by `read`.
    public func mustRelease(_ direction: Direction) -> Bool {
        switch direction {
        case .upstream: upstream.mustRelease
        case .downstream: downstream.mustRelease
        }
    }

    /// When `timeAdvanced` must be called; `distantFuture` if nothing is held.
    public func deadline(_ direction: Direction) -> Moment {
        switch direction {
        case .upstream: upstream.deadline
        case .downstream: downstream.deadline
        }
    }

    /// Gives up unfinished heads whose deadlines have passed.
    public func timeAdvanced(to now: Moment, _ direction: Direction) {
        switch direction {
        case .upstream where now >= upstream.deadline && search != nil:
            if let finding = search?.miss() { handle(finding) }
        case .upstream: upstream.timeAdvanced(to: now)
        case .downstream: downstream.timeAdvanced(to: now)
        }
    }

    /// Whether all requests before this number, from 1, have had complete final responses.
    public func hasAnswered(requestsBefore request: Int64) -> Bool {
        !exchange.awaitsResponse(before: request) && !downstream.scanner.isInMessage
    }

    /// Whether a response in the server's place can be put between those of the server: not after one that can't be
    /// read, nor after a switch to another protocol. The end of the server's stream ends them too.
    public var canAnswer: Bool { downstream.hasEnded || !downstream.scanner.hasStopped }

    /// The method of a pending request, by its number.
    func method(of request: Int64) -> String? { exchange.method(of: request) }

    /// Notes the end of a stream, so that an unfinished head is given up.
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

    /// Reads `bytes`, including the held ones, at `now`, and passes marks to `link`.
    ///
    /// - Returns: how many may be passed on, and what to do with the rest. The link must take those
    ///   (`Link.nextAlteration`, `Link.bytesArrived`) before the next call.
    public func read(_ bytes: Span<UInt8>, _ direction: Direction, at now: Moment, into link: inout Link) -> Portion {
        defer { if !readsMessages { rest() } }
        switch direction {
        case .upstream: return readUpstream(bytes, at: now, into: &link)
        case .downstream: return readDownstream(bytes, at: now, into: &link)
        }
    }

    private func readUpstream(_ bytes: Span<UInt8>, at now: Moment, into link: inout Link) -> Portion {
        let exchange = exchange
        if let finding = search?.look(at: bytes) { handle(finding) }
        let count = StreamReader.scan(
            &upstream,
            readsMessages,
            bytes,
            isOver: { false },
            isExpected: { true },
            begin: { (head) throws(UnreadReason) in try exchange.request(head) }
        )
        if notesResumptions { noteResumptions(upstream.marks) }
        let portion = StreamReader.finish(&upstream, bytes, count, at: now, &link)
        if upstream.scanner.hasStopped, !upstream.hasEnded { hasLostRequests = true }
        if hasLostRequests, !exchange.awaitsResponse, !downstream.scanner.isInMessage { downstream.scanner.stop() }
        return portion
    }

    private func readDownstream(_ bytes: Span<UInt8>, at now: Moment, into link: inout Link) -> Portion {
        let exchange = exchange
        let hasLostRequests = hasLostRequests
        if !bytes.isEmpty { search?.serverSent() }
        let count = StreamReader.scan(
            &downstream,
            readsMessages,
            bytes,
            isOver: { hasLostRequests && !exchange.awaitsResponse },
            isExpected: { exchange.awaitsResponse },
            begin: { (head) throws(UnreadReason) in try exchange.response(head) }
        )
        if hasLostRequests, case .unreadable(let offset, _) = downstream.marks.last {
            // Already reported as unreadable.
            downstream.marks[downstream.marks.count - 1] = .end(at: offset)
        }
        if notesResumptions { noteResumptions(downstream.marks) }
        let portion = StreamReader.finish(&downstream, bytes, count, at: now, &link)
        if downstream.scanner.hasStopped, !downstream.hasEnded { upstream.scanner.stop() }
        return portion
    }

    private func noteResumptions(_ marks: [Mark]) {
        for case .message(let message, _) in marks where (message.resourceStart ?? 0) > 0 {
            resumptions.append(message)
        }
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

    /// Searches for patterns in the `count` bytes that may be passed on, and holds the rest if it is an unfinished head.
    private static func finish(
        _ side: inout Side,
        _ bytes: Span<UInt8>,
        _ count: Int,
        at now: Moment,
        _ link: inout Link
    ) -> Portion {
        let hasMore = count < bytes.count && side.marks.count >= MessageScanner.markLimit
        for index in side.finders.indices { side.finders[index].read(bytes, count: count, into: &side.marks) }
        // Emptying an empty array would count a reference, and most reads have no marks.
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
