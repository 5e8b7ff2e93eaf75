import FaultPlan
import Units

/// What will become of a transfer through a profile: made by running the proxy's own links in virtual time.
public struct TransferForecast: Sendable {
    /// How the transfer ends.
    public enum Outcome: Hashable, Sendable {
        /// Complete.
        case complete
        /// The client gives up for now.
        case givesUp
        /// Not complete at the end of the time that the forecast was given.
        case unfinished
        /// The forecast was given up: it had taken all the steps that it was given.
        case tooManySteps
    }

    /// Something that happens on the way.
    public struct Event: Hashable, Sendable {
        /// When, on the clock of the proxy.
        public var moment: Moment
        /// What.
        public var kind: Kind

        /// What happens.
        public enum Kind: Hashable, Sendable {
            /// A connection was refused, by the fault of this name.
            case refused(fault: String)
            /// A client gave up connecting, because of the fault of this name nobody answered.
            case unanswered(fault: String)
            /// The connection of this number begins, with so many bytes held.
            case opened(connection: UInt64, offset: Int64)
            /// A fault acts, as the journal will tell it.
            case struck(JournalEntry)
            /// The connection of this number is lost, with so many bytes held.
            case lost(connection: UInt64, offset: Int64, Loss)
        }
    }

    /// Why a connection is lost.
    public enum Loss: String, Hashable, Sendable {
        /// A cut of the profile.
        case cut
        /// An outage that resets.
        case reset
        /// The client waited too long for the first byte.
        case firstByte
        /// The client found the body too slow.
        case stalled
    }

    /// A time in which nothing arrives.
    public struct Pause: Hashable, Sendable {
        /// When it begins.
        public var begin: Moment
        /// How long it lasts.
        public var duration: Duration
    }

    /// The events that are kept at most: 1,000. The figures count all of them.
    public static let eventLimit = 1_000
    /// The steps that a forecast takes at most if nothing is said: 16 million, a second or two.
    public static let stepLimit = 16_000_000
    /// What counts as a pause: 500 ms without a byte.
    public static let shortestPause = Duration.milliseconds(500)

    /// How it ends.
    public internal(set) var outcome = Outcome.unfinished
    /// How long it takes, or took when the forecast ended.
    public internal(set) var duration = Duration.zero
    /// The bytes of the file that have arrived at the end.
    public internal(set) var bytes: Int64 = 0
    /// The connections that were accepted.
    public internal(set) var connections = 0
    /// The connections that were refused.
    public internal(set) var refusals = 0
    /// How often each fault acted, by its name and what it did, in the order of the first time.
    public internal(set) var faultCounts: [(fault: String, count: Int)] = []
    /// The connections that a cut of the profile ended.
    public internal(set) var cuts = 0
    /// The connections that an outage reset.
    public internal(set) var resets = 0
    /// The connections that the client gave up because they were too slow.
    public internal(set) var timeouts = 0
    /// How many pauses there are.
    public internal(set) var pauses = 0
    /// The longest pause, if there is one.
    public internal(set) var longestPause: Pause?
    /// The time of all pauses.
    public internal(set) var pausedTime = Duration.zero
    /// What happens on the way, the first of it.
    public internal(set) var events: [Event] = []
    /// How far it has come at which time.
    public internal(set) var progress = ProgressCurve()

    /// Where `faultCounts` has what a fault did.
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

/// What is to be sent.
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
