extension FaultKind {
    /// The kinds by the word that a profile uses for them.
    public enum Name: String, Hashable, Sendable, CaseIterable {
        case latency
        case bandwidth
        case cut
        case stall
        case outage
        case corrupt
        case truncate
        case trace
        case slice
        case slowReader = "slow-reader"
        case loss
        case http
        case connect
        case connectionLimit = "connection-limit"
        case slowClose = "slow-close"
        case halfOpen = "half-open"

        /// The indefinite article of the word.
        var article: String {
            switch self {
            case .latency, .bandwidth, .cut, .stall, .corrupt, .truncate, .trace, .slice, .slowReader, .loss: "a"
            case .connect, .connectionLimit, .slowClose, .halfOpen: "a"
            case .outage, .http: "an"
            }
        }
    }

    /// Which kind this is.
    public var name: Name {
        switch self {
        case .latency: .latency
        case .bandwidth: .bandwidth
        case .cut: .cut
        case .stall: .stall
        case .outage: .outage
        case .corrupt: .corrupt
        case .truncate: .truncate
        case .trace: .trace
        case .slice: .slice
        case .slowReader: .slowReader
        case .loss: .loss
        case .http: .http
        case .connect: .connect
        case .connectionLimit: .connectionLimit
        case .slowClose: .slowClose
        case .halfOpen: .halfOpen
        }
    }
}
