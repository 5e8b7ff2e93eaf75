/// The data of a fault, by its kind.
///
/// The registry of kinds is this file: a case, a line in `definition` and a line in `definitions` each. Everything else
/// about a kind is in the file of its type, see `FaultDefinition`.
public enum FaultKind: Hashable, Sendable {
    case latency(Latency)
    case bandwidth(Bandwidth)
    case cut(Cut)
    case stall(Stall)
    case outage(Outage)
    case corrupt(Corrupt)
    case truncate(Truncate)
    case insert(Insert)
    case trace(Trace)
    case slice(Slice)
    case slowReader(SlowReader)
    case loss(Loss)
    case http(HTTPFault)
    case connect(Connect)
    case connectionLimit(ConnectionLimit)
    case slowClose(SlowClose)
    case halfOpen(HalfOpen)
    case discard(Discard)
    case tls(TLSFault)

    /// Every kind, in the order in which pages and messages list them.
    static let definitions: [any FaultDefinition.Type] = [
        Latency.self, Bandwidth.self, Cut.self, Stall.self, Outage.self, Corrupt.self, Truncate.self, Insert.self,
        Trace.self,
        Slice.self, SlowReader.self, Loss.self, HTTPFault.self, Connect.self, ConnectionLimit.self, SlowClose.self,
        HalfOpen.self, Discard.self, TLSFault.self,
    ]

    /// The data, by the interface of all kinds.
    var definition: any FaultDefinition {
        switch self {
        case .latency(let latency): latency
        case .bandwidth(let bandwidth): bandwidth
        case .cut(let cut): cut
        case .stall(let stall): stall
        case .outage(let outage): outage
        case .corrupt(let corrupt): corrupt
        case .truncate(let truncate): truncate
        case .insert(let insert): insert
        case .trace(let trace): trace
        case .slice(let slice): slice
        case .slowReader(let reader): reader
        case .loss(let loss): loss
        case .http(let fault): fault
        case .connect(let connect): connect
        case .connectionLimit(let limit): limit
        case .slowClose(let close): close
        case .halfOpen(let halfOpen): halfOpen
        case .discard(let discard): discard
        case .tls(let fault): fault
        }
    }
}

extension FaultKind {
    /// A kind by the word that a profile uses for it.
    public struct Name: RawRepresentable, Hashable, Sendable, CaseIterable {
        /// The word: "slow-reader".
        public let rawValue: String

        /// Every kind, in the order of the registry.
        public static let allCases = definitions.map { Name(of: $0) }

        /// The kind of a word; `nil` where there is none.
        public init?(rawValue: String) {
            guard definitions.contains(where: { $0.word == rawValue }) else { return nil }
            self.rawValue = rawValue
        }

        init(of definition: any FaultDefinition.Type) {
            rawValue = definition.word
        }

        var title: String { definition.title }
        package var shape: ObjectShape { definition.shape }
        /// The bounds that are the kind's own, for the page that lists them.
        package var limits: [(text: String, name: String, value: String)] { definition.limits }
        /// A fault of the kind, in JSON.
        package var example: String { definition.example }

        var definition: any FaultDefinition.Type {
            guard let definition = definitions.first(where: { $0.word == rawValue }) else {
                preconditionFailure("a name is made of a word that is in the registry")
            }
            return definition
        }
    }

    /// The data, of the type of its kind.
    package var data: any Sendable { definition }

    /// Which kind this is.
    public var name: Name { Name(of: type(of: definition)) }

    // See `FaultDefinition` for these.
    package var figures: FaultFigures { definition.figures }
    package var base: OffsetBase { definition.base }
    package var pattern: BytePattern? { definition.pattern }
    package var ownStream: StreamSelection? { definition.ownStream }
    package var isAboutMessages: Bool { definition.isAboutMessages }
    package var isReplayedByPosition: Bool { definition.isReplayedByPosition }
    package var endsWithMessage: Bool { definition.endsWithMessage }
    package func replayed(at event: ReplayedPosition) -> FaultKind? { definition.replayed(at: event) }
}
