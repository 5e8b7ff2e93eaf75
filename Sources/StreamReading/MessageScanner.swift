import FaultPlan
import NIOHTTP1

/// Finds the messages in one direction of a connection.
struct MessageScanner {
    /// Bytes of a head at most: 64 KiB. A longer one is taken for something else than HTTP.
    static let headLimit = 64 << 10

    private enum State {
        /// In front of a message, or in its head.
        case head
        /// In the content, of which so many bytes are left.
        case content(left: Int64)
        case chunks(ChunkScanner)
        /// In content that ends with the connection.
        case untilEnd
        /// Whatever follows is passed on and not looked at.
        case passing
    }

    /// The bytes that came before those that are read next.
    private(set) var offset: Int64 = 0
    private var state = State.head
    private var contentOffset: Int64 = 0
    /// The bytes of an unfinished head that were looked through already.
    private var looked = 0
    /// Whether the next bytes are those behind a message that was no longer looked at.
    private var mustEnd = false

    /// Whether a message has begun whose end hasn't come.
    var isInMessage: Bool {
        switch state {
        case .content, .chunks, .untilEnd: true
        case .head, .passing: false
        }
    }

    /// Stops looking: everything from here on is passed on. A message that had begun ends for its faults here.
    mutating func stop() {
        mustEnd = mustEnd || isInMessage
        state = .passing
    }

    /// Whether nothing is looked at any more.
    var hasStopped: Bool { if case .passing = state { true } else { false } }

    /// Reads `bytes`, which begin at `offset`; tells where messages are, and returns how many bytes may be passed on.
    /// The rest, an unfinished head, is to be given again in front of what comes next.
    ///
    /// - Parameters:
    ///   - isOver: whether no further message is to be looked for.
    ///   - begin: reads a whole head, says what it is and how its content ends; `nil` where it is none.
    ///   - isPossible: whether a head may begin like this.
    mutating func read(
        _ bytes: Span<UInt8>,
        into marks: inout [Mark],
        isOver: () -> Bool,
        begin: (Span<UInt8>) -> (message: Message, framing: Framing)?,
        isPossible: (Span<UInt8>) -> Bool
    ) -> Int {
        var index = 0
        if mustEnd {
            mustEnd = false
            marks.append(.end(at: offset))
        }
        reading: while index < bytes.count {
            switch state {
            case .head:
                if isOver() {
                    state = .passing
                    continue
                }
                // Empty lines in front of a message belong to none (RFC 9112, section 2.2).
                if looked == 0, bytes[index] == 0x0D || bytes[index] == 0x0A {
                    index += 1
                    continue
                }
                let rest = bytes.extracting(index...)
                guard let length = headLength(rest) else {
                    if rest.count <= MessageScanner.headLimit, isPossible(rest) { break reading }
                    giveUp(at: index, &marks)
                    continue
                }
                looked = 0
                guard length <= MessageScanner.headLimit, let (message, framing) = begin(rest.extracting(..<length))
                else {
                    giveUp(at: index, &marks)
                    continue
                }
                marks.append(.message(message, at: offset + Int64(index)))
                index += length
                enter(framing, at: offset + Int64(index), &marks)
            case .content(let left):
                let count = min(left, Int64(bytes.count - index))
                content(count, at: index, &marks)
                index += Int(count)
                if left == count { end(at: index, &marks) } else { state = .content(left: left - count) }
            case .chunks(var scanner):
                follow(&scanner, bytes, &index, &marks)
            case .untilEnd:
                content(Int64(bytes.count - index), at: index, &marks)
                index = bytes.count
            case .passing:
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

    private mutating func follow(
        _ scanner: inout ChunkScanner,
        _ bytes: Span<UInt8>,
        _ index: inout Int,
        _ marks: inout [Mark]
    ) {
        state = .chunks(scanner)
        let start = index
        switch scanner.next(bytes, &index) {
        case .content(let count):
            content(Int64(count), at: index - count, &marks)
            state = .chunks(scanner)
        case .end:
            end(at: index, &marks)
        case .more:
            state = .chunks(scanner)
        case .unreadable:
            index = start
            giveUp(at: start, &marks)
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

    private mutating func giveUp(at index: Int, _ marks: inout [Mark]) {
        state = .passing
        marks.append(.unreadable(at: offset + Int64(index)))
    }

    /// The bytes up to the end of the empty line behind a head; `nil` while that hasn't come.
    private mutating func headLength(_ bytes: Span<UInt8>) -> Int? {
        // An empty line may have begun in what was looked through.
        var index = max(0, looked - 3)
        while index < bytes.count {
            if bytes[index] == 0x0A {
                if index >= 1, bytes[index - 1] == 0x0A { return index + 1 }
                if index >= 3, bytes[index - 1] == 0x0D, bytes[index - 2] == 0x0A { return index + 1 }
            }
            index += 1
        }
        looked = bytes.count
        return nil
    }
}
