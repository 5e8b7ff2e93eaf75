/// A fault: its kind, directions and connections.
public struct Fault: Hashable, Sendable {
    /// The name, part of the journal and of every draw. Unique in the profile. The default is the kind ("cut"), numbered
    /// from the second on ("cut-2"), with the phase in front ("gone/outage").
    public var name: String
    /// The directions it acts on.
    public var stream: StreamSelection
    /// The connections it acts on, and when in their lives.
    public var condition: Condition
    /// The kind and its data.
    public var kind: FaultKind

    package init(name: String, stream: StreamSelection = .both, condition: Condition = Condition(), kind: FaultKind) {
        self.name = name
        self.stream = stream
        self.condition = condition
        self.kind = kind
    }
}

/// Which directions of a connection a fault acts on.
public enum StreamSelection: String, Hashable, Sendable, CaseIterable {
    /// Client to server.
    case upstream
    /// Server to client.
    case downstream
    /// Each of the two, on its own.
    case both
}
