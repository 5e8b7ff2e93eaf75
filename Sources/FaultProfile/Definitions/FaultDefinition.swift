import Units

/// The definition of a kind of fault, in the file of its type.
///
/// The table of `Field`s reads and writes a fault and generates its schema and documentation. The behaviour is in the stage
/// of the module `FaultPlan`.
protocol FaultDefinition: Hashable, Sendable {
    /// The word of the kind: "slow-reader".
    static var word: String { get }
    /// The indefinite article of the word.
    static var article: String { get }
    /// A sentence about the kind, for editors and pages.
    static var summary: String { get }
    /// The allowed values of `stream`, which is required if `both` isn't among them.
    static var streams: [StreamSelection] { get }
    /// The keys of the kind, without the common ones.
    static var table: ObjectTable<Self> { get }
    /// A fault of the kind, in JSON; a test reads each.
    static var example: String { get }

    /// The kind's own limits: description, name in the code and value.
    static var limits: [(text: String, name: String, value: String)] { get }

    /// The fault as one of all kinds.
    var kind: FaultKind { get }
    /// Figures for drawings.
    var figures: FaultFigures { get }
    /// The base of the offsets.
    var base: OffsetBase { get }
    /// The pattern to search for in the stream.
    var pattern: BytePattern? { get }
    /// The fixed direction of the kind; `nil` if `stream` decides.
    var ownStream: StreamSelection? { get }
    /// Whether it acts on HTTP messages even without `when.http`.
    var isAboutMessages: Bool { get }
    /// Why it can't be narrowed to HTTP messages; `nil` if it can.
    var reasonAgainstMessages: String? { get }
    /// Whether a replay repeats its events one by one, at the positions of the journal.
    var isReplayedByPosition: Bool { get }
    /// Whether an effect ends with its message, so that a replay is narrowed to the message.
    var endsWithMessage: Bool { get }

    /// Reports conflicts between keys, once all could be read.
    func check(_ context: FaultContext, _ decoder: inout ProfileDecoder)
    /// The fault that repeats a journal event; `nil` if only the original fault can.
    func replayed(at event: ReplayedPosition) -> FaultKind?
}

extension FaultDefinition {
    static var article: String { "a" }
    static var streams: [StreamSelection] { StreamSelection.allCases }
    static var limits: [(text: String, name: String, value: String)] { [] }
    var base: OffsetBase { .connection }
    var pattern: BytePattern? { nil }
    var ownStream: StreamSelection? { nil }
    var isAboutMessages: Bool { false }
    var reasonAgainstMessages: String? { nil }
    var isReplayedByPosition: Bool { false }
    var endsWithMessage: Bool { false }

    func check(_ context: FaultContext, _ decoder: inout ProfileDecoder) {}
    func replayed(at event: ReplayedPosition) -> FaultKind? { nil }

    static var title: String { "\(article) \(word) fault" }

    /// All keys of the kind: the common ones, then its own.
    static var shape: ObjectShape {
        var shape = table.shape
        shape.title = title
        shape.definition = word
        shape.summary = summary
        let words = streams.map(\.rawValue)
        let text = "upstream is client to server, downstream server to client; `both`: each by itself"
        shape.keys =
            [
                .required("kind", .choice(FaultKind.Name.allCases.map(\.rawValue)), "what it does"),
                .optional(
                    "name",
                    .faultName,
                    fallback: "see below",
                    "unique in the profile; the journal and the draws use it"
                ),
                streams.contains(.both)
                    ? .optional("stream", .choice(words), fallback: "`both`", text)
                    : .required("stream", .choice(words), text),
                .optional("when", .condition, fallback: "always", "the connections and messages it acts on"),
            ] + shape.keys
        return shape
    }

    /// Reads a fault; `nil` if it can't be read, which has been reported.
    static func read(_ context: FaultContext, _ decoder: inout ProfileDecoder) -> FaultKind? {
        var context = context
        guard let fault = table.read(context.object, title: title, &decoder, unread: &context.unread) else {
            return nil
        }
        fault.check(context, &decoder)
        return fault.kind
    }

    /// The keys of the kind with their values.
    var writtenMembers: [(key: String, value: JSONText)] { Self.table.written(self) }
}

/// The context of a fault for the checks of its kind.
struct FaultContext {
    let object: CheckedObject
    let stream: StreamSelection
    let condition: Condition
    /// The keys whose values can't be read.
    var unread: Set<String> = []

    /// Reports a single direction for a fault that is about whole connections.
    func checkBothStreams(_ title: String, _ decoder: inout ProfileDecoder) {
        guard stream != .both else { return }
        decoder.report(
            "\(title), not on the \(stream.rawValue) direction alone",
            remedy: "delete “stream”",
            at: object["stream"]?.place ?? object.place
        )
    }

    /// Reports `of` beside the first of the `positions` that is given, if that one counts no bytes.
    func checkBase(
        _ base: OffsetBase,
        of positions: [String],
        without uncounted: Set<String>,
        _ decoder: inout ProfileDecoder
    ) {
        guard base.countsMessages, let key = positions.first(where: { object[$0] != nil }), uncounted.contains(key)
        else { return }
        decoder.report(
            "\(key.quoted) counts no bytes of a \(base.rawValue)",
            remedy: "delete “of”",
            at: object.place(of: "of")
        )
    }
}

/// Figures and a short text of a fault, for drawings.
package struct FaultFigures {
    /// "cut at 64 KiB".
    package let text: String
    /// Whether it acts at one point of a connection and not over an interval.
    package var isAtPosition = false
    package var rate: BitRate?
    package var delay = Duration.zero
    package var jitter = Duration.zero
    package var outage: Outage.Mode?

    /// Whether it has a figure: a rate, a delay, or an outage.
    package var hasFigures: Bool { rate != nil || delay > .zero || jitter > .zero || outage != nil }
}

/// The position of a journal event.
package struct ReplayedPosition {
    package let at: ByteCount
    package let base: OffsetBase
    package let longestInterval: Duration
    /// The bit that the fault drew for the position, from 0 to 7.
    package let drawnBit: @Sendable () -> Int

    package init(at: ByteCount, base: OffsetBase, longestInterval: Duration, drawnBit: @escaping @Sendable () -> Int) {
        self.at = at
        self.base = base
        self.longestInterval = longestInterval
        self.drawnBit = drawnBit
    }
}
