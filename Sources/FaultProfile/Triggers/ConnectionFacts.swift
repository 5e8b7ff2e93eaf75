import Units

/// The facts about a connection by which triggers pick connections.
public struct ConnectionFacts: Hashable, Sendable {
    /// A fact that isn't known of every connection.
    package enum Kind: String, CaseIterable, Sendable {
        case client = "clients"
        case host = "hosts"
        case port = "ports"
        case program = "programs"
    }

    /// The client's address without the port; `nil` if it is unknown or not needed.
    public let client: String?
    /// The target that the client has named in a handshake, if it has.
    public let target: HostName?
    /// The server's port, 1…65,535; `nil` for a Unix-domain socket, or if it is unknown.
    public let port: UInt16?
    /// The name in the client's first bytes, once it is known.
    public var name: HostName?
    /// The number of the connection among those to its target, from 1; `nil` without a target.
    public var numberAtTarget: UInt64?
    /// The client's program; `nil` if it is unknown or not needed.
    public var program: Program?
    /// `client` as a number.
    let address: IPAddress?

    /// Makes the facts that are known; an address is one without a port.
    ///
    /// - Parameter port: the port of the only server; that of the target, if there is one, counts.
    public init(client: String? = nil, target: HostName? = nil, name: HostName? = nil, port: UInt16? = nil) {
        (self.client, self.target, self.name) = (client, target, name)
        self.port = target?.port ?? port
        address = client.flatMap { IPAddress($0) }
    }

    /// The hosts that the client has named.
    var names: [HostName] { [target, name].compactMap(\.self) }

    /// Whether a fact is known.
    package func has(_ kind: Kind) -> Bool {
        switch kind {
        case .client: address != nil
        case .host: !names.isEmpty
        case .port: port != nil
        case .program: program != nil
        }
    }
}

/// A connection that may have a fault.
package struct Candidate: Sendable {
    /// The connection's number, counted from 1.
    let ordinal: UInt64
    let facts: ConnectionFacts
    /// The fault's draw for the connection, from 0 up to 1.
    let draw: Double

    package init(ordinal: UInt64, facts: ConnectionFacts, draw: Double) {
        (self.ordinal, self.facts, self.draw) = (ordinal, facts, draw)
    }
}
