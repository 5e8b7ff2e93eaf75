import FaultPlan
import Units

/// The predicted course of a transfer through a profile, made by running the proxy's links in virtual time.
public struct TransferForecast: Sendable {
    /// How the transfer ends.
    public enum Outcome: Hashable, Sendable {
        /// Complete.
        case complete
        /// The client gives up for now.
        case givesUp
        /// Incomplete at the time limit.
        case unfinished
        /// Aborted at the step limit.
        case tooManySteps
    }

    /// An event of the transfer.
    public struct Event: Hashable, Sendable {
        /// The time, on the clock of the proxy.
        public var moment: Moment
        /// The kind of event.
        public var kind: Kind

        /// The kinds of events.
        public enum Kind: Hashable, Sendable {
            /// A connection was refused by the fault of this name.
            case refused(fault: String)
            /// A client gave up connecting, unanswered because of the fault of this name.
            case unanswered(fault: String)
            /// The connection of this number begins, with this many bytes received.
            case opened(connection: UInt64, offset: Int64)
            /// A fault acts, as in the journal.
            case struck(JournalEntry)
            /// The connection of this number is lost, with this many bytes received.
            case lost(connection: UInt64, offset: Int64, Loss)
        }
    }

    /// Why a connection is lost.
    public enum Loss: String, Hashable, Sendable {
        /// A cut, or the end of the stream before the last byte.
        case cut
        /// A resetting outage.
        case reset
        /// The first byte timed out.
        case firstByte
        /// The body was below the minimum throughput.
        case stalled
    }

    /// A time without progress.
    public struct Pause: Hashable, Sendable {
        /// The start.
        public var begin: Moment
        /// The duration.
        public var duration: Duration
    }

    /// A delay that was measured.
    public struct Delay: Hashable, Sendable {
        /// When the byte arrived.
        public var moment: Moment
        /// How long the faults had held it, in a queue or on its way.
        public var delay: Duration
    }

    /// The most measured delays: 8,192, more than a day has.
    public static let delayLimit = 8_192
    /// The most events kept: 1,000. The counts include all.
    public static let eventLimit = 1_000
    /// The default step limit: 16 million, a second or two.
    public static let stepLimit = 16_000_000
    /// The shortest pause: 500 ms without a byte.
    public static let shortestPause = Duration.milliseconds(500)

    /// The outcome.
    public internal(set) var outcome = Outcome.unfinished
    /// The duration, up to the end of the forecast.
    public internal(set) var duration = Duration.zero
    /// The bytes of the file that arrived.
    public internal(set) var bytes: Int64 = 0
    /// The number of accepted connections.
    public internal(set) var connections = 0
    /// The number of refused connections.
    public internal(set) var refusals = 0
    /// How often each fault acted, by name and effect, in the order of first events.
    public internal(set) var faultCounts: [(fault: String, count: Int)] = []
    /// The number of connections that ended by a cut, or before the last byte.
    public internal(set) var cuts = 0
    /// The number of connections reset by an outage.
    public internal(set) var resets = 0
    /// The number of connections that timed out or were too slow.
    public internal(set) var timeouts = 0
    /// How often the client waited between two attempts.
    public internal(set) var waits = 0
    /// The number of pauses.
    public internal(set) var pauses = 0
    /// The longest pause.
    public internal(set) var longestPause: Pause?
    /// The total time of pauses.
    public internal(set) var pausedTime = Duration.zero
    /// The first events.
    public internal(set) var events: [Event] = []
    /// The bytes of the file that arrived over time.
    public internal(set) var progress = ProgressCurve()
    /// The delays of single bytes over time.
    public internal(set) var delays: [Delay] = []

    /// The index in `faultCounts` of a fault and an effect.
    private var eventPlaces: [String: Int] = [:]

    mutating func note(_ kind: Event.Kind, at moment: Moment) {
        switch kind {
        case .refused: refusals += 1
        case .opened: connections += 1
        case .struck(let entry): count("\(entry.fault) \(entry.effect.word)")
        case .lost(_, _, .cut): cuts += 1
        case .lost(_, _, .reset): resets += 1
        case .lost(_, _, .firstByte), .lost(_, _, .stalled), .unanswered: timeouts += 1
        }
        if events.count < TransferForecast.eventLimit { events.append(Event(moment: moment, kind: kind)) }
    }

    mutating func note(_ delay: Duration, at moment: Moment) {
        if delays.count < TransferForecast.delayLimit { delays.append(Delay(moment: moment, delay: delay)) }
    }

    mutating func notePause(from begin: Moment, to end: Moment) {
        let duration = end - begin
        guard duration >= TransferForecast.shortestPause else { return }
        pauses += 1
        pausedTime += duration
        if duration > longestPause?.duration ?? .zero { longestPause = Pause(begin: begin, duration: duration) }
    }

    private mutating func count(_ fault: String) {
        if let index = eventPlaces[fault] {
            faultCounts[index].count += 1
        } else {
            eventPlaces[fault] = faultCounts.count
            faultCounts.append((fault, 1))
        }
    }
}

/// A transfer to forecast.
public struct Transfer: Hashable, Sendable {
    /// Downstream is a download, upstream an upload.
    public var direction: Direction
    /// The size of the file.
    public var bytes: ByteCount

    /// Makes a transfer of `bytes`, above zero.
    public init(direction: Direction, bytes: ByteCount) {
        self.direction = direction
        self.bytes = bytes
    }
}
