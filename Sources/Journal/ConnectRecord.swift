import FaultPlan
import Units

/// A connect of a supervised program, and how it has ended.
public struct ConnectRecord: Hashable, Sendable {
    /// The time of its end, on the proxy's clock.
    public var moment: Moment
    /// The proxy's name.
    public var proxy: String
    /// The connection's number, from 1; `nil` if it wasn't accepted.
    public var connection: UInt64?
    /// The number among the connections to the target, from 1; `nil` if it wasn't accepted.
    public var number: UInt64?
    /// The target, an address with a port.
    public var target: String
    /// The number of the process; 0 if it isn't known.
    public var process: Int32
    /// The name of the program; `nil` if it isn't known.
    public var program: String?
    /// Whether the program's call waited for the end.
    public var blocks: Bool
    /// `connected`, `closed`, `cancelled` if the program has closed its socket, or the name of the error: `ECONNREFUSED`.
    public var outcome: String

    /// Makes a record of its parts.
    public init(
        moment: Moment,
        proxy: String,
        connection: UInt64?,
        number: UInt64?,
        target: String,
        process: Int32,
        program: String?,
        blocks: Bool,
        outcome: String
    ) {
        (self.moment, self.proxy, self.connection, self.number) = (moment, proxy, connection, number)
        (self.target, self.process, self.program) = (target, process, program)
        (self.blocks, self.outcome) = (blocks, outcome)
    }
}
