/// An entity tag: a server's identifier for one state of a representation (RFC 9110, section 8.8.3).
///
/// Tags are opaque and compared byte by byte. `==` compares weakness too; preconditions use `matchesStrongly` or
/// `matchesWeakly`.
public struct EntityTag: Sendable {
    /// Whether the tag is marked `W/`: equal weak tags mean equivalent, not identical, content.
    public let isWeak: Bool
    /// The characters between the quotes. May be empty.
    public let opaque: String

    /// Parses a field value such as `"abc"` or `W/"abc"`; `W` is case-sensitive.
    ///
    /// Returns `nil` for everything else: missing quotes, a list, a blank, quote or control character inside. A tag
    /// with bytes that weren't UTF-8 contains replacement characters and could match a different tag, so it is `nil` as
    /// well.
    public init?(_ headerValue: String) {
        var scanner = FieldScanner(headerValue)
        guard let tag = EntityTag(&scanner), scanner.isAtEnd else { return nil }
        self = tag
    }

    /// Consumes one tag from the front of a field value.
    init?(_ scanner: inout FieldScanner) {
        isWeak = scanner.skip("W/")
        guard scanner.skip("\"") else { return nil }
        opaque = scanner.take { $0 == 0x21 || (0x23...0x7E).contains($0) || $0 >= 0x80 }
        guard scanner.skip("\""), !opaque.unicodeScalars.contains("\u{FFFD}") else { return nil }
    }

    /// The tag as a field value.
    public var headerValue: String { (isWeak ? "W/\"" : "\"") + opaque + "\"" }

    /// Strong comparison: both are strong and equal, so the content is identical and ranges can be combined (RFC 9110,
    /// section 8.8.3.2). A weak tag never matches, not even itself.
    public func matchesStrongly(_ other: EntityTag) -> Bool {
        !isWeak && !other.isWeak && matchesWeakly(other)
    }

    /// Weak comparison: the opaque parts are equal, so the content is equivalent (RFC 9110, section 8.8.3.2).
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

/// The value of `If-Match` or `If-None-Match`: `*`, or a list of tags (RFC 9110, sections 13.1.1 and 13.1.2).
public enum EntityTagCondition: Hashable, Sendable {
    /// `*`: any current representation.
    case any
    /// Any of these tags; never empty.
    case oneOf([EntityTag])

    /// Parses a field value; join several field lines with commas. Skips empty list members (RFC 9110, section
    /// 5.6.1.2). Returns `nil` when a member isn't a tag, or when there is none.
    public init?(_ headerValue: String) {
        var scanner = FieldScanner(headerValue)
        scanner.skipWhitespace()
        if scanner.skip("*") {
            scanner.skipWhitespace()
            guard scanner.isAtEnd else { return nil }
            self = .any
            return
        }
        guard let tags = scanner.list(of: { EntityTag(&$0) }) else { return nil }
        self = .oneOf(tags)
    }
}
