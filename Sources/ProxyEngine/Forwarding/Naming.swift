import FaultPlan
import StreamReading
import Units

/// The search for a name in a client's first bytes, which wait here meanwhile; in memory that exists until they pass.
final class Naming {
    /// The longest wait for more bytes after some that have no name yet: 1 s.
    static let silenceLimit = Duration.seconds(1)
    /// The time limit from the first byte: 10 s.
    static let limit = Duration.seconds(10)

    /// How far it has come.
    enum Stage {
        /// The name is looked for.
        case reading
        /// The listener makes the faults for the name.
        case awaitingFaults
        /// The faults are on the connection, and may hold up the bytes.
        case beginning(NamedBeginning)
        /// The bytes may pass.
        case over
    }

    var stage = Stage.reading
    /// When to look again if nothing happens before. While the client has sent nothing there is no limit.
    var wake = Moment.distantFuture
    private var reader = NameReader()
    private var began: Moment?

    /// The bytes that wait.
    var bytes: [UInt8] { reader.bytes }
    /// The most bytes that may be read next, at least 1 while the name is looked for.
    var room: Int { reader.room }

    /// Whether faults hold up the bytes, perhaps for good.
    var isHeldUp: Bool { if case .beginning = stage { true } else { false } }

    /// Goes on in another generation of the plan.
    func follow(_ update: ConnectionUpdate) {
        guard case .beginning(var beginning) = stage else { return }
        beginning.follow(update)
        stage = .beginning(beginning)
    }

    /// Reads the client's next bytes, at most `room`.
    func read(_ bytes: Span<UInt8>, at now: Moment) -> NameReader.Outcome {
        let outcome = reader.read(bytes)
        let began = began ?? now
        self.began = began
        wake = outcome == .incomplete ? min(began + Naming.limit, now + Naming.silenceLimit) : .distantFuture
        return outcome
    }
}
