/// An entity tag: the name that a server gives to one state of a representation (RFC 9110, section 8.8.3).
///
/// Tags are opaque and are compared byte by byte. `==` is the identity of two tags, weakness included; what a
/// precondition asks for is `matchesStrongly` or `matchesWeakly`.
public struct EntityTag: Sendable {
    /// Whether the tag is marked `W/`: equal tags then mean equivalent, not identical, content.
    public let isWeak: Bool
    /// What stands between the quotes. May be empty.
    public let opaque: String

    /// Reads a field value such as `"abc"` or `W/"abc"`; `W` is case-sensitive.
    ///
    /// `nil` when the value is anything else: no quotes, a list, a blank or a quote inside, a control character. A tag
    /// whose bytes weren't UTF-8 has lost them to replacement characters before it got here; it could match
    /// another, so it is `nil` as well.
    public init?(_ headerValue: String) {
        var scanner = FieldScanner(headerValue)
        guard let tag = EntityTag(&scanner), scanner.isAtEnd else { return nil }
        self = tag
    }

    /// Takes one tag from the front of a field value.
    init?(_ scanner: inout FieldScanner) {
        isWeak = scanner.skip("W/")
        guard scanner.skip("\"") else { return nil }
        opaque = scanner.take { $0 == 0x21 || (0x23...0x7E).contains($0) || $0 >= 0x80 }
        guard scanner.skip("\""), !opaque.unicodeScalars.contains("\u{FFFD}") else { return nil }
    }

    /// The tag as a field value, in the form that `init(_:)` reads.
    public var headerValue: String { (isWeak ? "W/\"" : "\"") + opaque + "\"" }

    /// Whether both are strong and the same: the content is identical, so ranges of one are ranges of the other
    /// (RFC 9110, section 8.8.3.2). A weak tag never matches, not even itself.
    public func matchesStrongly(_ other: EntityTag) -> Bool {
        !isWeak && !other.isWeak && matchesWeakly(other)
    }

    /// Whether both name the same, weak or not: the content is equivalent (RFC 9110, section 8.8.3.2).
    public func matchesWeakly(_ other: EntityTag) -> Bool {
        opaque.utf8.elementsEqual(other.opaque.utf8)
    }
}

extension EntityTag: Hashable {
    /// Whether both are the same tag, byte for byte and weakness included.
    public static func == (left: EntityTag, right: EntityTag) -> Bool {
        left.isWeak == right.isWeak && left.matchesWeakly(right)
    }

    /// Feeds the weakness and the bytes to `hasher`.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(isWeak)
        for byte in opaque.utf8 { hasher.combine(byte) }
    }
}

/// What `If-Match` and `If-None-Match` carry: `*`, or a list of tags (RFC 9110, sections 13.1.1 and 13.1.2).
public enum EntityTagCondition: Hashable, Sendable {
    /// `*`: any current representation.
    case any
    /// One of these tags; never empty.
    case oneOf([EntityTag])

    /// Reads a field value; several lines of the field are to be joined with commas. Empty members are skipped, as
    /// lists ask for (RFC 9110, section 5.6.1.2). `nil` when a member isn't a tag, or when there is none.
    public init?(_ headerValue: String) {
        var scanner = FieldScanner(headerValue)
        scanner.skipWhitespace()
        if scanner.skip("*") {
            scanner.skipWhitespace()
            guard scanner.isAtEnd else { return nil }
            self = .any
            return
        }
        var tags: [EntityTag] = []
        while !scanner.isAtEnd {
            if !scanner.skip(",") {
                guard let tag = EntityTag(&scanner) else { return nil }
                tags.append(tag)
                scanner.skipWhitespace()
                guard scanner.isAtEnd || scanner.skip(",") else { return nil }
            }
            scanner.skipWhitespace()
        }
        guard !tags.isEmpty else { return nil }
        self = .oneOf(tags)
    }
}
