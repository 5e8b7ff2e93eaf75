import FaultPlan

/// How the content of a message ends (RFC 9112, section 6.3).
enum Framing: Equatable {
    /// No content.
    case none
    /// After this many bytes.
    case length(Int64)
    /// In chunks.
    case chunked
    /// At the end of the connection.
    case untilEnd
    /// Followed by another protocol (RFC 9110, sections 7.8 and 9.3.6).
    case tunnel

    /// The framing of a request with these fields.
    init(request fields: HeadFields) throws(UnreadReason) {
        self = try Framing.explicit(in: fields) ?? .none
        // Such a request has no known end.
        if self == .untilEnd { throw .unknownCoding }
    }

    /// The framing of a response with these fields to a request of `method`.
    init(response fields: HeadFields, status: Int, to method: String) throws(UnreadReason) {
        if status == 101 || method == "CONNECT" && (200...299).contains(status) {
            self = .tunnel
        } else if method == "HEAD" || (100...199).contains(status) || status == 204 || status == 304 {
            self = .none
        } else {
            self = try Framing.explicit(in: fields) ?? .untilEnd
        }
    }

    /// The framing that fields give; ambiguous combinations are refused.
    private static func explicit(in fields: HeadFields) throws(UnreadReason) -> Framing? {
        if fields.hasCoding {
            if fields.length != nil || fields.hasInvalidLength { throw .lengthAndCoding }
            if fields.isChunkedTwice { throw .unknownCoding }
            return fields.endsChunked ? .chunked : .untilEnd
        }
        if fields.hasInvalidLength { throw .invalidLength }
        return fields.length.map(Framing.length)
    }
}
