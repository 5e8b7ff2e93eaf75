import FaultPlan

/// The fields of a head that give the framing and the position of the content in its resource, and the wanted fields.
///
/// Lines end with a line feed, with or without a carriage return in front of it, and may be folded (RFC 9112, sections
/// 2.2 and 5.2), as nginx or curl read them.
struct HeadFields {
    /// The content length, if given: a number, or a list of equal numbers.
    private(set) var length: Int64?
    /// Whether a length is invalid or differs from another.
    private(set) var hasInvalidLength = false
    /// Whether there is a transfer coding.
    private(set) var hasCoding = false
    /// Whether the last transfer coding is `chunked`.
    private(set) var endsChunked = false
    /// Whether `chunked` was applied twice.
    private(set) var isChunkedTwice = false
    /// The wanted fields in order.
    private(set) var wanted: [Message.Field] = []
    private var isChunked = false
    private var contentRange: Range<Int>?
    private var uploadOffset: Range<Int>?

    /// Reads the lines after the first one, which ends at `start`, and keeps the fields whose lower-case names are in
    /// `names`.
    init(_ head: Span<UInt8>, from start: Int, isRequest: Bool, keeping names: [String]) throws(UnreadReason) {
        var index = start
        while !HeadFields.isEmptyLine(head, at: index) {
            let name = HeadFields.name(head, from: index)
            // White space before the colon must be refused by servers and is read differently by clients (RFC 9112,
            // section 5.1).
            let colon = HeadFields.skipBlanks(head, from: name.upperBound)
            let hasSpaceBeforeColon = colon > name.upperBound
            guard !name.isEmpty, !(hasSpaceBeforeColon && isRequest), colon < head.count, head[colon] == Byte.colon
            else { throw .malformedField }
            index = try HeadFields.fieldEnd(head, from: colon + 1)
            try read(head, name, colon + 1..<index, hasSpaceBeforeColon: hasSpaceBeforeColon)
            if !names.isEmpty { keep(head, name, colon + 1..<index, names) }
        }
    }

    /// The offset of a request's content in its resource: by `Content-Range` (RFC 9110, section 14.4) or the
    /// `Upload-Offset` of resumable uploads, else 0.
    func uploadStart(_ head: Span<UInt8>) -> Int64? {
        if contentRange != nil { return rangeStart(head) }
        if let uploadOffset { return head.number(uploadOffset) }
        return 0
    }

    /// The offset of a response's content in its resource; `nil` if unknown or several ranges.
    func downloadStart(_ head: Span<UInt8>, status: Int) -> Int64? {
        switch status {
        case 200, 203: 0
        case 206: rangeStart(head)
        default: nil
        }
    }

    private mutating func read(
        _ head: Span<UInt8>,
        _ name: Range<Int>,
        _ line: Range<Int>,
        hasSpaceBeforeColon: Bool
    ) throws(UnreadReason) {
        // The length of a name tells most fields apart.
        switch name.count {
        case 13:
            if contentRange == nil, head.extracting(name).equalsIgnoringCase("content-range") {
                contentRange = head.trimmed(line)
            } else if uploadOffset == nil, head.extracting(name).equalsIgnoringCase("upload-offset") {
                uploadOffset = head.trimmed(line)
            }
        case 14 where head.extracting(name).equalsIgnoringCase("content-length"):
            if hasSpaceBeforeColon { throw .malformedField }
            noteLength(head, head.trimmed(line))
        case 17 where head.extracting(name).equalsIgnoringCase("transfer-encoding"):
            if hasSpaceBeforeColon { throw .malformedField }
            noteCoding(head, head.trimmed(line))
        default:
            break
        }
    }

    private mutating func keep(_ head: Span<UInt8>, _ name: Range<Int>, _ line: Range<Int>, _ names: [String]) {
        for wantedName in names where head.extracting(name).equalsIgnoringCase(wantedName) {
            wanted.append(Message.Field(name: head.text(name), value: head.text(head.trimmed(line))))
            return
        }
    }

    private mutating func noteLength(_ head: Span<UInt8>, _ value: Range<Int>) {
        var rest: Range<Int>? = value
        while let element = head.nextElement(of: &rest) {
            let number = head.number(element)
            if number == nil || length != nil && length != number { hasInvalidLength = true }
            length = number
        }
    }

    private mutating func noteCoding(_ head: Span<UInt8>, _ value: Range<Int>) {
        hasCoding = true
        var rest: Range<Int>? = value
        while let element = head.nextElement(of: &rest) {
            if element.isEmpty { continue }
            endsChunked = head.extracting(element).equalsIgnoringCase("chunked")
            if endsChunked, isChunked { isChunkedTwice = true }
            isChunked = isChunked || endsChunked
        }
    }

    private func rangeStart(_ head: Span<UInt8>) -> Int64? {
        guard let value = contentRange, let space = head.firstIndex(of: Byte.space, in: value),
            head.extracting(value.lowerBound..<space).equalsIgnoringCase("bytes"),
            let dash = head.firstIndex(of: Byte.dash, in: space..<value.upperBound)
        else { return nil }
        return head.number(head.trimmed(space..<dash))
    }

    /// The characters of a name from `start` on.
    private static func name(_ head: Span<UInt8>, from start: Int) -> Range<Int> {
        var index = start
        while index < head.count, head[index] != Byte.colon, Byte.isVisible(head[index]) { index += 1 }
        return start..<index
    }

    private static func skipBlanks(_ head: Span<UInt8>, from start: Int) -> Int {
        var index = start
        while index < head.count, head[index] == Byte.space || head[index] == Byte.tab { index += 1 }
        return index
    }

    /// The end of the field whose value begins at `start`, including its last line feed.
    private static func fieldEnd(_ head: Span<UInt8>, from start: Int) throws(UnreadReason) -> Int {
        var index = start
        while index < head.count {
            let byte = head[index]
            index += 1
            // Most bytes of a value need no attention.
            if byte > Byte.carriageReturn { continue }
            if byte == Byte.lineFeed {
                let isFolded = index < head.count && (head[index] == Byte.space || head[index] == Byte.tab)
                if !isFolded { return index }
            } else if byte == 0
                || byte == Byte.carriageReturn && (index == head.count || head[index] != Byte.lineFeed)
            {
                // A bare carriage return ends a line for some readers only (RFC 9112, section 2.2).
                throw .malformedField
            }
        }
        throw .malformedField
    }

    private static func isEmptyLine(_ head: Span<UInt8>, at index: Int) -> Bool {
        guard index < head.count else { return false }
        if head[index] == Byte.lineFeed { return true }
        return head[index] == Byte.carriageReturn && index + 1 < head.count && head[index + 1] == Byte.lineFeed
    }
}
