import FaultPlan

/// The fields of a head that say where its message ends and where in a resource its content lies, and if wanted all.
///
/// Lines end with a line feed, with or without a carriage return in front of it, and may be folded (RFC 9112, sections
/// 2.2 and 5.2), as nginx or curl read them.
struct HeadFields {
    /// The content's length, if one is given: a number, or a list of the same.
    private(set) var length: Int64?
    /// Whether there is a length that isn't a number, or differs from another.
    private(set) var hasInvalidLength = false
    /// Whether there is a transfer coding.
    private(set) var hasCoding = false
    /// Whether the last transfer coding is `chunked`.
    private(set) var endsChunked = false
    /// Whether a message was chunked twice.
    private(set) var isChunkedTwice = false
    /// All fields in order, if they are wanted.
    private(set) var all: [Message.Field] = []
    private var isChunked = false
    private var contentRange: Range<Int>?
    private var uploadOffset: Range<Int>?

    /// Reads the lines behind the first one of a head, which ends at `start`.
    init(_ head: Span<UInt8>, from start: Int, isRequest: Bool, keepsAll: Bool) throws(UnreadReason) {
        var index = start
        while true {
            guard var next = try HeadFields.lineEnd(head, from: index) else { throw .malformedField }
            if HeadFields.isEmptyLine(head, index..<next) { return }
            while next < head.count, head[next] == Byte.space || head[next] == Byte.tab {
                guard let folded = try HeadFields.lineEnd(head, from: next) else { throw .malformedField }
                next = folded
            }
            try read(head, index..<next, isRequest: isRequest, keepsAll: keepsAll)
            index = next
        }
    }

    /// Where in a resource the content of a request begins: by its `Content-Range` (RFC 9110, section 14.4) or by the
    /// `Upload-Offset` of resumable uploads, else at its start.
    func uploadStart(_ head: Span<UInt8>) -> Int64? {
        if contentRange != nil { return rangeStart(head) }
        if let uploadOffset { return head.number(uploadOffset) }
        return 0
    }

    /// Where in a resource the content of a response begins; `nil` where it is no part of one, or several.
    func downloadStart(_ head: Span<UInt8>, status: Int) -> Int64? {
        switch status {
        case 200, 203: 0
        case 206: rangeStart(head)
        default: nil
        }
    }

    private mutating func read(
        _ head: Span<UInt8>,
        _ line: Range<Int>,
        isRequest: Bool,
        keepsAll: Bool
    ) throws(UnreadReason) {
        guard let colon = head.firstIndex(of: Byte.colon, in: line), colon > line.lowerBound else {
            throw .malformedField
        }
        var nameEnd = colon
        while nameEnd > line.lowerBound, head[nameEnd - 1] == Byte.space || head[nameEnd - 1] == Byte.tab {
            nameEnd -= 1
        }
        let nameRange = line.lowerBound..<nameEnd
        for index in nameRange where !Byte.isVisible(head[index]) { throw .malformedField }
        // White space in front of the colon: a server must refuse it, and clients read it in one way or another (RFC
        // 9112, section 5.1).
        let isLoose = nameEnd < colon
        if isLoose, isRequest || nameRange.isEmpty { throw .malformedField }
        let value = head.trimmed(colon + 1..<line.upperBound)
        let name = head.extracting(nameRange)
        if name.equalsIgnoringCase("content-length") {
            if isLoose { throw .malformedField }
            noteLength(head, value)
        } else if name.equalsIgnoringCase("transfer-encoding") {
            if isLoose { throw .malformedField }
            noteCoding(head, value)
        } else if name.equalsIgnoringCase("content-range") {
            contentRange = contentRange ?? value
        } else if name.equalsIgnoringCase("upload-offset") {
            uploadOffset = uploadOffset ?? value
        }
        if keepsAll { all.append(Message.Field(name: head.text(nameRange), value: head.text(value))) }
    }

    private mutating func noteLength(_ head: Span<UInt8>, _ value: Range<Int>) {
        for element in head.elements(of: value) {
            let number = head.number(element)
            if number == nil || length != nil && length != number { hasInvalidLength = true }
            length = number
        }
    }

    private mutating func noteCoding(_ head: Span<UInt8>, _ value: Range<Int>) {
        hasCoding = true
        for element in head.elements(of: value) where !element.isEmpty {
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

    /// Where the line from `start` on ends, its line feed included; `nil` where it doesn't.
    private static func lineEnd(_ head: Span<UInt8>, from start: Int) throws(UnreadReason) -> Int? {
        var index = start
        while index < head.count {
            let byte = head[index]
            index += 1
            if byte == Byte.lineFeed { return index }
            // A carriage return alone would end a line for some readers only (RFC 9112, section 2.2).
            if byte == 0 || byte == Byte.carriageReturn && (index == head.count || head[index] != Byte.lineFeed) {
                throw .malformedField
            }
        }
        return nil
    }

    private static func isEmptyLine(_ head: Span<UInt8>, _ line: Range<Int>) -> Bool {
        line.count == 1 || line.count == 2 && head[line.lowerBound] == Byte.carriageReturn
    }
}
