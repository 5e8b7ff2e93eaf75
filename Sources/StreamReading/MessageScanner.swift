import FaultPlan

/// Finds the messages in one direction of a connection.
struct MessageScanner {
    /// The longest head: 64 KiB. After a longer one nothing more is read.
    static let headLimit = 64 << 10
    /// Marks after which the link must take bytes before more are scanned: 64.
    static let markLimit = 64

    private enum State {
        /// Before a message, or in its head.
        case head
        /// In the content, with this many bytes left.
        case content(left: Int64)
        case chunks(ChunkScanner)
        /// In content that ends with the connection.
        case untilEnd
        /// Somewhere in a message; everything is passed on unread until `join`.
        case waiting
        /// The rest is passed on unread.
        case passing
    }

    /// The offset of the next bytes.
    private(set) var offset: Int64 = 0
    private var state = State.head
    private var contentOffset: Int64 = 0
    private var scanned = 0
    /// The first line of the head, as far as it has come.
    private var line: StartLine
    /// The initial state of a first line.
    private let start: StartLine
    /// A mark to report with the next bytes: the end of an abandoned message, or that the stream is unreadable.
    private var pending: Pending?
    /// Whether a message was found.
    private(set) var hasRead = false

    private enum Pending {
        case end
        case unreadable(UnreadReason)
    }

    /// Makes a scanner of messages whose first lines begin as `start`.
    init(_ start: StartLine) {
        self.start = start
        line = start
    }

    /// Makes a scanner in the middle of a stream, at `offset`, that passes everything on until `join`.
    init(_ start: StartLine, waitingAt offset: Int64) {
        self.init(start)
        self.offset = offset
        state = .waiting
    }

    /// Has a message begin with the next byte, if the scanner waits for one.
    mutating func join() {
        if case .waiting = state { state = .head }
    }

    var isInMessage: Bool {
        switch state {
        case .content, .chunks, .untilEnd: true
        case .head, .waiting, .passing: false
        }
    }

    /// Stops scanning and passes everything on. An unfinished message ends here for its faults.
    mutating func stop() {
        if isInMessage { pending = .end }
        state = .passing
    }

    /// Stops scanning for a reason, which is reported with the next bytes.
    mutating func giveUp(_ why: UnreadReason) {
        pending = .unreadable(why)
        state = .passing
    }

    /// How likely the bytes of an unfinished head are to become one.
    var progress: StartLine.Progress { line.progress }

    var hasStopped: Bool { if case .passing = state { true } else { false } }

    /// Whether every byte is passed on, so that none is held.
    var passesAll: Bool {
        switch state {
        case .waiting, .passing: true
        case .head, .content, .chunks, .untilEnd: false
        }
    }

    /// Reads `bytes`, which begin at `offset`, appends marks, and returns how many bytes may be passed on. The rest is an
    /// unfinished head, to be passed again in front of what comes next, or unscanned if `marks` has reached `markLimit`.
    ///
    /// - Parameters:
    ///   - isOver: whether no further message is wanted.
    ///   - isExpected: whether a message may begin.
    ///   - begin: reads a complete head and returns the message and its framing.
    mutating func read(
        _ bytes: Span<UInt8>,
        into marks: inout [Mark],
        isOver: () -> Bool,
        isExpected: () -> Bool,
        begin: (Span<UInt8>) throws(UnreadReason) -> Exchange.Head
    ) -> Int {
        var index = 0
        switch pending {
        case .end?: marks.append(.end(at: offset))
        case .unreadable(let why)?: marks.append(.unreadable(at: offset, why: why))
        case nil: break
        }
        pending = nil
        reading: while index < bytes.count, marks.count < MessageScanner.markLimit {
            switch state {
            case .head:
                if isOver() {
                    state = .passing
                    continue
                }
                // Empty lines before a message are ignored (RFC 9112, section 2.2).
                if scanned == 0, bytes[index] == Byte.carriageReturn || bytes[index] == Byte.lineFeed {
                    index += 1
                    continue
                }
                let rest = bytes.extracting(index...)
                do throws(UnreadReason) {
                    guard let length = try head(rest, isExpected: isExpected) else { break reading }
                    let (message, framing) = try begin(rest.extracting(..<length))
                    marks.append(.message(message, at: offset + Int64(index)))
                    index += length
                    hasRead = true
                    enter(framing, at: offset + Int64(index), &marks)
                } catch {
                    giveUp(hasRead ? error : error.refined(byFirst: rest), at: index, &marks)
                }
            case .content(let left):
                let count = min(left, Int64(bytes.count - index))
                content(count, at: index, &marks)
                index += Int(count)
                if left == count { end(at: index, &marks) } else { state = .content(left: left - count) }
            case .chunks(var scanner):
                handle(&scanner, bytes, &index, &marks)
            case .untilEnd:
                content(Int64(bytes.count - index), at: index, &marks)
                index = bytes.count
            case .waiting, .passing:
                index = bytes.count
            }
        }
        offset += Int64(index)
        return index
    }

    private mutating func enter(_ framing: Framing, at position: Int64, _ marks: inout [Mark]) {
        contentOffset = 0
        if framing != .none, framing != .tunnel { marks.append(.body(offset: 0, at: position, count: 0)) }
        switch framing {
        case .none, .length(0):
            state = .head
            marks.append(.end(at: position))
        case .length(let length): state = .content(left: length)
        case .chunked: state = .chunks(ChunkScanner())
        case .untilEnd: state = .untilEnd
        case .tunnel:
            state = .passing
            marks.append(.end(at: position))
        }
    }

    private mutating func handle(
        _ scanner: inout ChunkScanner,
        _ bytes: Span<UInt8>,
        _ index: inout Int,
        _ marks: inout [Mark]
    ) {
        switch scanner.next(bytes, &index) {
        case .content(let count):
            content(Int64(count), at: index - count, &marks)
            state = .chunks(scanner)
        case .end:
            end(at: index, &marks)
        case .more:
            state = .chunks(scanner)
        case .unreadable:
            // At the byte that can't be framing.
            index -= 1
            giveUp(.brokenChunks, at: index, &marks)
        }
    }

    private mutating func content(_ count: Int64, at index: Int, _ marks: inout [Mark]) {
        marks.append(.body(offset: contentOffset, at: offset + Int64(index), count: count))
        contentOffset += count
    }

    private mutating func end(at index: Int, _ marks: inout [Mark]) {
        state = .head
        marks.append(.end(at: offset + Int64(index)))
    }

    private mutating func giveUp(_ why: UnreadReason, at index: Int, _ marks: inout [Mark]) {
        state = .passing
        marks.append(.unreadable(at: offset + Int64(index), why: why))
    }

    /// The length of the head at the start of `bytes`; `nil` while it is incomplete.
    private mutating func head(_ bytes: Span<UInt8>, isExpected: () -> Bool) throws(UnreadReason) -> Int? {
        let length = headLength(bytes)
        let isLong = length ?? bytes.count > MessageScanner.headLimit
        if let length, !isLong {
            (scanned, line) = (0, start)
            return length
        }
        guard line.read(bytes.extracting(first: MessageScanner.headLimit)) else { throw .notHTTP }
        guard isExpected() else { throw .noRequest }
        if isLong { throw .longHead }
        return nil
    }

    /// The length up to the end of the empty line after a head; `nil` while that hasn't come.
    private mutating func headLength(_ bytes: Span<UInt8>) -> Int? {
        // An empty line may have begun in scanned bytes.
        var index = max(0, scanned - 3)
        // Two line ends in a row, so checking every second byte is enough.
        while index < bytes.count {
            if bytes[index] <= Byte.carriageReturn {
                for end in index...index + 1 where MessageScanner.endsHead(bytes, at: end) { return end + 1 }
            }
            index += 2
        }
        scanned = bytes.count
        return nil
    }

    private static func endsHead(_ bytes: Span<UInt8>, at index: Int) -> Bool {
        guard index >= 1, index < bytes.count, bytes[index] == Byte.lineFeed else { return false }
        if bytes[index - 1] == Byte.lineFeed { return true }
        return index >= 2 && bytes[index - 1] == Byte.carriageReturn && bytes[index - 2] == Byte.lineFeed
    }
}

extension UnreadReason {
    /// The first byte of the records with which a TLS stream begins, an alert and a handshake (RFC 8446, section 5.1).
    private static let firstRecords: ClosedRange<UInt8> = 21...22
    /// What tells the preface of HTTP/2 (RFC 9113, section 3.4) from a request, which has no such target.
    private static let preface = "PRI *"
    /// The size of the head of a frame of HTTP/2, and the type of SETTINGS, with which a server begins (sections 4.1 and 6.5).
    private static let frame: (head: Int, settings: UInt8) = (9, 4)

    /// The protocol of a stream that isn't HTTP/1, if its first `bytes` name it.
    fileprivate func refined(byFirst bytes: Span<UInt8>) -> UnreadReason {
        guard self == .notHTTP, !bytes.isEmpty else { return self }
        if UnreadReason.firstRecords.contains(bytes[0]) { return .tls }
        let length = UnreadReason.preface.utf8.count
        let isPreface = bytes.count >= length && bytes.extracting(..<length).equals(UnreadReason.preface)
        let isFrame = bytes.count >= UnreadReason.frame.head && bytes[3] == UnreadReason.frame.settings
        return isPreface || isFrame && (4..<UnreadReason.frame.head).allSatisfy { bytes[$0] == 0 } ? .http2 : self
    }
}
