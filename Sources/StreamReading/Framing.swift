import NIOHTTP1

/// How the content of a message ends (RFC 9112, section 6.3).
enum Framing: Equatable {
    /// There is none.
    case none
    /// After so many bytes.
    case length(Int64)
    /// By chunks.
    case chunked
    /// With the connection.
    case untilEnd
    /// What follows is no HTTP any more (RFC 9110, sections 7.8 and 9.3.6).
    case tunnel

    /// The framing of a request; `nil` where it can't be told.
    init?(request head: HTTPRequestHead) {
        if let coding = head.headers.transferCoding {
            guard coding == "chunked" else { return nil }
            self = .chunked
        } else if head.headers.contains(name: "content-length") {
            guard let length = head.headers.contentLength else { return nil }
            self = .length(length)
        } else {
            self = .none
        }
    }

    /// The framing of a response to a request of `method`; `nil` where it can't be told.
    init?(response head: HTTPResponseHead, to method: HTTPMethod) {
        let code = head.status.code
        if code == 101 || method == .CONNECT && (200...299).contains(code) {
            self = .tunnel
        } else if method == .HEAD || (100...199).contains(code) || code == 204 || code == 304 {
            self = .none
        } else if let coding = head.headers.transferCoding {
            self = coding == "chunked" ? .chunked : .untilEnd
        } else if head.headers.contains(name: "content-length") {
            guard let length = head.headers.contentLength else { return nil }
            self = .length(length)
        } else {
            self = .untilEnd
        }
    }
}

extension HTTPHeaders {
    /// The last transfer coding, in small letters.
    fileprivate var transferCoding: String? { self[canonicalForm: "transfer-encoding"].last?.lowercased() }

    /// The length of the content; `nil` where it isn't a number, or several.
    fileprivate var contentLength: Int64? {
        let values = Set(self[canonicalForm: "content-length"])
        guard values.count == 1, let value = values.first, value.utf8.allSatisfy({ (0x30...0x39).contains($0) })
        else { return nil }
        return Int64(value)
    }

    /// Where in a resource the content of a request begins: by its `Content-Range` (RFC 9110, section 14.4) or by the
    /// `Upload-Offset` of resumable uploads, else at its start.
    var uploadStart: Int64? {
        if let range = first(name: "content-range") { return HTTPHeaders.start(ofContentRange: range) }
        if let offset = first(name: "upload-offset") { return HTTPHeaders.number(offset) }
        return 0
    }

    /// Where in a resource the content of a response of `code` begins; `nil` where it is no part of one, or several.
    func downloadStart(code: UInt) -> Int64? {
        switch code {
        case 200, 203: 0
        case 206: first(name: "content-range").flatMap(HTTPHeaders.start)
        default: nil
        }
    }

    private static func start(ofContentRange value: String) -> Int64? {
        guard let space = value.firstIndex(of: " "), value[..<space].lowercased() == "bytes",
            let dash = value[space...].firstIndex(of: "-")
        else { return nil }
        return number(value[value.index(after: space)..<dash])
    }

    private static func number(_ digits: some StringProtocol) -> Int64? {
        guard !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return Int64(digits)
    }
}
