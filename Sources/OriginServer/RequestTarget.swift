/// What a request is about, read off its request target (RFC 9112, section 3.2).
enum RequestTarget: Hashable {
    /// A path below the folder: names without any that lead elsewhere. Empty for the folder itself.
    case path(components: [String], endsWithSlash: Bool)
    /// `*`: the server as a whole.
    case server
    /// A path that no file has, whatever the folder holds.
    case unservable
    /// Not a request target: 400.
    case malformed

    /// The longest target that is looked at; the decoder's own limit lies above.
    static let maximumLength = 8_192

    /// Reads origin-form, absolute-form (the authority is ignored: there is one site) and asterisk-form. The query
    /// is ignored. Percent-encoding is decoded once.
    ///
    /// Unservable are, after decoding: an empty name, `.` and `..`, a slash or a backslash within a name, and
    /// names that are kept back (`isKeptBack`). Malformed are a NUL, broken percent-encoding, and bytes that
    /// aren't UTF-8.
    init(_ target: String) {
        guard target.utf8.count <= Self.maximumLength, !target.utf8.contains(UInt8(ascii: "#")) else {
            self = .malformed
            return
        }
        if target == "*" {
            self = .server
            return
        }
        guard let path = Self.path(of: target) else {
            self = .malformed
            return
        }
        self = Self.components(of: path)
    }

    /// Whether a name is never served: hidden files, which start with a dot, and the partial files that our own client
    /// leaves behind.
    static func isKeptBack(_ name: some StringProtocol) -> Bool {
        name.utf8.first == UInt8(ascii: ".") || name.contains(".squall-part")
    }

    /// A reference to the folder at `components`, with its slash and the query (RFC 3986, section 4.2).
    ///
    /// It has no scheme and no host. None of the components is empty, so it can't begin with two slashes either and name
    /// a host that way.
    static func folderReference(_ components: [String], query: String?) -> String {
        let path = components.map { "/" + $0.percentEncoded("-._~!$&'()*+,;=:@") }.joined() + "/"
        return path + (query.map { "?" + $0.percentEncoded("-._~!$&'()*+,;=:@/?%") } ?? "")
    }

    /// The path of a target in origin-form or absolute-form, as it was sent; `nil` when it is in neither.
    static func path(of target: String) -> Substring? {
        let beforeQuery = target.prefix { $0 != "?" }
        if beforeQuery.utf8.first == UInt8(ascii: "/") { return beforeQuery }
        guard let schemeEnd = beforeQuery.firstRange(of: "://") else { return nil }
        let scheme = beforeQuery[..<schemeEnd.lowerBound].lowercased()
        let afterScheme = beforeQuery[schemeEnd.upperBound...]
        guard scheme == "http" || scheme == "https", afterScheme.first != "/", !afterScheme.isEmpty else { return nil }
        let path = afterScheme.drop { $0 != "/" }
        return path.isEmpty ? "/" : path
    }

    private static func components(of path: Substring) -> RequestTarget {
        var components: [String] = []
        let encoded = path.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
        let endsWithSlash = encoded.last?.isEmpty ?? true
        for name in endsWithSlash ? encoded.dropLast() : encoded[...] {
            guard let decoded = name.percentDecoded, !decoded.utf8.contains(0) else { return .malformed }
            components.append(decoded)
        }
        let servable = components.allSatisfy { name in
            !name.isEmpty && !isKeptBack(name)
                && !name.utf8.contains { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\") }
        }
        return servable ? .path(components: components, endsWithSlash: endsWithSlash) : .unservable
    }
}

extension String {
    /// The text with every byte as `%XX` that is no letter, no digit and none of `kept`.
    fileprivate func percentEncoded(_ kept: String) -> String {
        var encoded = ""
        for byte in utf8 {
            let scalar = Unicode.Scalar(byte)
            if scalar.isASCII, scalar.properties.isAlphabetic || (48...57).contains(byte) || kept.utf8.contains(byte) {
                encoded.unicodeScalars.append(scalar)
            } else {
                encoded += (byte < 16 ? "%0" : "%") + String(byte, radix: 16, uppercase: true)
            }
        }
        return encoded
    }
}

extension Substring {
    /// The text with every `%XX` replaced by its byte; `nil` for a `%` without two hexadecimal digits, and when the
    /// bytes aren't UTF-8.
    fileprivate var percentDecoded: String? {
        var bytes: [UInt8] = []
        var rest = utf8[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%") {
                guard let high = rest.popFirst()?.hexadecimalValue, let low = rest.popFirst()?.hexadecimalValue else {
                    return nil
                }
                bytes.append(high << 4 | low)
            } else {
                bytes.append(byte)
            }
        }
        return String(validating: bytes, as: UTF8.self)
    }
}

extension UInt8 {
    fileprivate var hexadecimalValue: UInt8? {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
