import Units

/// What a kind of fault is, in the one file of its type: its data, its keys, and what others have to know of it.
///
/// The keys are a table of `Field`s, from which a fault is read and written, and from which its schema and its page are
/// made. How the kind acts is in its stage, in the module `FaultPlan`.
protocol FaultDefinition: Hashable, Sendable {
    /// The word of the kind: "slow-reader".
    static var word: String { get }
    /// The indefinite article of the word.
    static var article: String { get }
    /// What it does, as a sentence for editors and pages.
    static var summary: String { get }
    /// The directions that `stream` may name; where `both` isn't among them, it has to be given.
    static var streams: [StreamSelection] { get }
    /// The keys of the kind, without those that every fault has.
    static var table: ObjectTable<Self> { get }
    /// A fault of the kind, in JSON; a test reads each.
    static var example: String { get }

    /// The bounds of its keys that are its own: what is bounded, by which name, and to what.
    static var limits: [(text: String, name: String, value: String)] { get }

    /// The fault as one of all kinds.
    var kind: FaultKind { get }
    /// What it means for a drawing.
    var figures: FaultFigures { get }
    /// What its offsets are counted in.
    var base: OffsetBase { get }
    /// The bytes that it looks for in the stream.
    var pattern: BytePattern? { get }
    /// The one direction that it acts on whatever `stream` says; `nil` where `stream` decides.
    var ownStream: StreamSelection? { get }
    /// Whether it acts on HTTP messages even without `when.http`.
    var isAboutMessages: Bool { get }
    /// Why it can't be narrowed to HTTP messages; `nil` where it can.
    var reasonAgainstMessages: String? { get }
    /// Whether a replay acts it again line by line, at the positions of the journal, in place of the fault itself.
    var isReplayedByPosition: Bool { get }
    /// Whether what it does ends with the message in which it began, so that its replay is narrowed to messages as well.
    var endsWithMessage: Bool { get }

    /// Reports what doesn't go together, once every key could be read.
    func check(_ context: FaultContext, _ decoder: inout ProfileDecoder)
    /// The fault that acts as a line of a journal tells; `nil` where only the fault of the profile can.
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

    /// "a cut fault".
    static var title: String { "\(article) \(word) fault" }

    /// All keys of the kind: those of every fault, then its own.
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

    /// The fault that an object gives; `nil` where it can't be made, which has been reported.
    static func read(_ context: FaultContext, _ decoder: inout ProfileDecoder) -> FaultKind? {
        var context = context
        guard let fault = table.read(context.object, title: title, &decoder, unread: &context.unread) else {
            return nil
        }
        fault.check(context, &decoder)
        return fault.kind
    }

    /// The keys of the kind with their values, as a profile has them.
    var writtenMembers: [(key: String, value: JSONText)] { Self.table.written(self) }
}

/// What else a fault says, for the checks of its kind.
struct FaultContext {
    let object: CheckedObject
    let stream: StreamSelection
    let condition: Condition
    /// The keys that have values which can't be read.
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
        guard base != .connection, let key = positions.first(where: { object[$0] != nil }), uncounted.contains(key)
        else { return }
        decoder.report(
            "\(key.quoted) counts no bytes of a \(base.rawValue)",
            remedy: "delete “of”",
            at: object.place(of: "of")
        )
    }
}

/// What a fault means for a drawing: figures where it has some, and a short line.
package struct FaultFigures {
    /// "cut at 64 KiB".
    package let text: String
    /// Whether it acts at one point of a connection and not on all that passes over a interval of time.
    package var isAtPosition = false
    package var rate: BitRate?
    package var delay = Duration.zero
    package var jitter = Duration.zero
    package var outage: Outage.Mode?

    /// Whether it has a figure: a rate, a delay, or an outage.
    package var hasFigures: Bool { rate != nil || delay > .zero || jitter > .zero || outage != nil }
}

/// Where, by the line of a journal, a fault acted.
package struct ReplayedPosition {
    /// The position.
    package let at: ByteCount
    /// What it is counted in.
    package let base: OffsetBase
    /// The longest time that the fault can have been on without a break.
    package let longestInterval: Duration
    /// The bit that the fault drew for the position, from 0 to 7.
    package let drawnBit: @Sendable () -> Int

    /// Makes a position out of its parts.
    package init(at: ByteCount, base: OffsetBase, longestInterval: Duration, drawnBit: @escaping @Sendable () -> Int) {
        self.at = at
        self.base = base
        self.longestInterval = longestInterval
        self.drawnBit = drawnBit
    }
}
