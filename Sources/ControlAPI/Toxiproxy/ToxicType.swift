/// A type of toxic, by the word that Toxiproxy has for it.
package enum ToxicType: String, Sendable, CaseIterable {
    case latency
    case bandwidth
    case slowClose = "slow_close"
    case timeout
    case resetPeer = "reset_peer"
    case slicer
    case limitData = "limit_data"
    case noop

    /// The names of the attributes, in the order in which Toxiproxy writes them. All of them are whole numbers, by
    /// default 0.
    package var attributes: [String] {
        switch self {
        case .latency: ["latency", "jitter"]
        case .bandwidth: ["rate"]
        case .slowClose: ["delay"]
        case .timeout, .resetPeer: ["timeout"]
        case .slicer: ["average_size", "size_variation", "delay"]
        case .limitData: ["bytes"]
        case .noop: []
        }
    }
}
