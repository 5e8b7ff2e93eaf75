import Units

/// Passes bytes at the opportunities of a recorded trace; they wait in a queue until then. The trace starts with the
/// connection and repeats. No byte is lost: with a full queue bytes stay with the sender.
public struct Trace: Hashable, Sendable {
    /// The bytes that may pass at each opportunity.
    public static let opportunitySize = ByteCount(1_500)

    /// The path of the trace's file.
    public var file: String
    /// The opportunities to pass up to 1,500 B, in milliseconds from the start of the trace, ascending; equal times allow
    /// more. Never empty; the last, above zero, is the length of the trace.
    public var opportunities: [UInt32]
    /// The size of the queue: 1,500 B or more.
    public var queue: ByteCount = defaultQueue

    /// The default queue: 256 KiB.
    public static let defaultQueue = ByteCount.kibibytes(256)
}

extension Trace: FaultDefinition {
    static let word = "trace"
    static let summary = "Bytes pass when a recorded trace gave an opportunity, and wait in a queue until then."
    static let example = #"{ "kind": "trace", "stream": "downstream", "file": "traces/12mbit.trace" }"#
    static let table = ObjectTable(
        Trace(file: "", opportunities: []),
        texts: """
            file: the trace
            queue: bytes that may wait before the link; a deeper queue delays more
            """,
        [
            .part("file", times, isRequired: true) {
                ($0.file, $0.opportunities)
            } set: {
                ($0.file, $0.opportunities) = $1
            },
            .written("queue", \.queue, queueSize, default: defaultQueue),
        ]
    )

    private static let queueSize = Form.size.checked { queue in
        guard queue < opportunitySize else { return nil }
        return ("a queue of \(queue.text) has no room for the 1500 B of an opportunity", "write “1500 B” or more")
    }.described("size of at least `\"1500 B\"`")

    private static let times = Form<(file: String, opportunities: [UInt32])>(
        .tracePath,
        read: { node, key, decoder in
            guard let file = decoder.text(node, key: key, limit: ProfileLimits.pathLength) else { return nil }
            guard !file.isEmpty else {
                decoder.report("“file” is empty", remedy: "write the path of a trace", at: node.place)
                return nil
            }
            guard let opportunities = decoder.trace(file, at: node.place) else { return nil }
            // Made relative to the working directory.
            return (ProfileReference.path(ofFile: file, in: decoder.file), opportunities)
        },
        write: { .text($0.file) }
    )

    var kind: FaultKind { .trace(self) }
    var figures: FaultFigures {
        let bits = Int64(opportunities.count) * Trace.opportunitySize.bytes * 8
        let mean = BitRate(bitsPerSecond: max(1, bits * 1_000 / Int64(max(1, opportunities.last ?? 1))))
        let name = file.split(separator: "/").last.map(String.init) ?? file
        return FaultFigures(text: "trace \(name), queue \(queue.text)", rate: mean)
    }
}
