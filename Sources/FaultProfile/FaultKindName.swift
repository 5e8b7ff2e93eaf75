extension FaultKind {
    /// The kinds by the word that a profile uses for them.
    public enum Name: String, Hashable, Sendable, CaseIterable {
        case latency
        case bandwidth
        case cut
        case stall
        case outage
        case loss

        /// The indefinite article of the word.
        var article: String {
            switch self {
            case .latency, .bandwidth, .cut, .stall, .loss: "a"
            case .outage: "an"
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
        case .loss: .loss
        }
    }
}
