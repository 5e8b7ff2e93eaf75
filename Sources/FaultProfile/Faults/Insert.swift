import Units

/// Inserts bytes into the stream, as an advertisement or a captive portal does.
public struct Insert: Hashable, Sendable {
    /// Where the bytes are inserted.
    public var position: Position
    /// The bytes: 1 to `largest` of them.
    public var bytes: [UInt8]
    /// What the offset counts: `connection` or `wire`.
    package var base: OffsetBase = .connection

    /// The most bytes of an insertion: 4 KiB.
    public static let largest = 4_096

    /// Where bytes are inserted.
    public enum Position: Hashable, Sendable {
        /// After this many bytes, counted as in `Cut`.
        case at(ByteCount)
        /// After the first match in the stream.
        case pattern(BytePattern)
    }
}

extension Insert: FaultDefinition {
    static let word = "insert"
    static let article = "an"
    static let summary = "Bytes are inserted into the stream, and the rest follows them."
    static let example = #"{ "kind": "insert", "stream": "downstream", "pattern": "<body>", "bytes": "<b>Buy!</b>" }"#
    static let table = ObjectTable(
        Insert(position: .at(.zero), bytes: []),
        texts: """
            at: after this many bytes, counted as in a cut
            pattern: after the first occurrence of these bytes
            bytes: the inserted bytes
            of: `wire` inserts among the encrypted bytes of [TLS](../https.md#what-faults-count)
            """,
        oneOf: (["at", "pattern"], #""at": "64 KiB""#),
        [
            .one("at", \.position, .offset, Position.at) { if case .at(let offset) = $0 { offset } else { nil } },
            .one("pattern", \.position, .pattern, Position.pattern) {
                if case .pattern(let pattern) = $0 { pattern } else { nil }
            },
            .required("bytes", \.bytes, .bytes(content, limit: largest, of: "an insertion")),
            .optional("of", \.base, base, default: .connection),
        ]
    )

    private static let base = Form<OffsetBase>.choice.only(
        .choice([OffsetBase.connection.rawValue, OffsetBase.wire.rawValue]),
        where: { !$0.countsMessages },
        else: { _, base in
            ("an insertion counts no bytes of a \(base.rawValue)", "delete “of”, or write “wire”")
        }
    )

    private static let content = ValueForm.bytes("insertedBytes", limit: largest, "<b>Buy!</b>")

    static var limits: [(text: String, name: String, value: String)] {
        [("bytes of an insertion", "Insert.largest", ByteCount(Int64(largest)).text)]
    }

    var kind: FaultKind { .insert(self) }
    var pattern: BytePattern? { if case .pattern(let pattern) = position { pattern } else { nil } }
    var figures: FaultFigures {
        let place =
            switch position {
            case .at(let offset): "at \(offset.text)"
            case .pattern(let pattern): "behind \(pattern.text)"
            }
        let size = ByteCount(Int64(bytes.count)).text
        return FaultFigures(text: "insert \(size) \(place)\(base.words)", isAtPosition: true)
    }
    var reasonAgainstMessages: String? {
        pattern == nil ? nil : "its pattern is looked for in the whole stream"
    }
    var isReplayedByPosition: Bool { true }

    func replayed(at event: ReplayedPosition) -> FaultKind? {
        .insert(Insert(position: .at(event.at), bytes: bytes, base: base))
    }
}
