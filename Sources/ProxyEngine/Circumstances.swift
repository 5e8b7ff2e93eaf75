import FaultPlan
import FaultProfile
import StreamReading
import Units

/// What the faults of a connection need to know beside its links. The connections that no fault concerns share one, and
/// so cost less memory.
final class Circumstances {
    /// What ends the connection as a whole.
    let terminators: ConnectionTerminators
    /// The receive buffer of the socket to the server, if it is bounded.
    let serverWindow: Int?
    /// The wait before the server is connected to.
    let connectDelay: ConnectDelay?
    /// For how long nobody accepts the connection.
    let hang: Hang
    /// Finds the positions that faults ask for, where some do.
    let reader: StreamReader
    /// Whether no fault concerns the connection.
    let isPlain: Bool
    private let mayTerminate: Bool
    private var spacing = WakeSpacing()
    private var hangSpacing = WakeSpacing()
    /// Since when the connection would be over, but for a listener that still has to refuse others.
    var isOverSince: Moment?
    /// The fault that answers in the server's place, once it has acted and until the answer is on its way.
    var answering: (request: Int64, answer: HTTPAnswer)?
    /// Whether the answer is.
    var isAnswered = false
    /// The bytes that had passed, and when the last of them did, when this was last looked at.
    private var passed: (bytes: Int64, moment: Moment)

    /// Those of a connection.
    init(_ plan: ConnectionPlan) {
        isPlain = plan.isPlain
        mayTerminate = plan.terminators.arePossible
        terminators = plan.terminators
        serverWindow = plan.receiveWindow[.downstream].map { Int($0.bytes) }
        connectDelay = plan.connectDelay
        hang = plan.hang
        reader = StreamReader(plan.reading)
        passed = (0, plan.opened)
    }

    /// Those of a connection that goes on with another generation of its plan, where `passed` bytes have passed by `now`.
    init(_ last: Circumstances, _ update: ConnectionUpdate, reader: StreamReader, passed: Int64, now: Moment) {
        // A connection that faults have concerned is looked at as one that they may concern.
        isPlain = false
        terminators = update.terminators(after: last.terminators)
        mayTerminate = terminators.arePossible
        serverWindow = last.serverWindow
        connectDelay = update.connectDelay(after: last.connectDelay)
        hang = update.hang(after: last.hang)
        self.reader = reader
        answering = last.answering
        isAnswered = last.isAnswered
        // Idleness that nobody counted begins here.
        self.passed = last.mayTerminate ? last.passed : (passed, now)
    }

    /// What ends the connection at `now`, if something does.
    func terminator(at now: Moment) -> (event: FaultEvent, how: Cut.Ending)? {
        mayTerminate ? terminators.event(at: now, lastPassed: passed.moment) : nil
    }

    /// When to ask for an interruption again; `distantFuture` when none can come.
    func nextTermination(after now: Moment) -> Moment {
        guard mayTerminate else { return .distantFuture }
        return spacing.wake(for: terminators.nextChange(after: now, lastPassed: passed.moment), now: now)
    }

    /// When to ask again whether nobody accepts the connection.
    func nextHangChange(after now: Moment) -> Moment {
        hangSpacing.wake(for: hang.nextChange(after: now), now: now)
    }

    /// So many bytes have passed in both directions by `now`.
    func notePassed(_ bytes: Int64, at now: Moment) {
        guard mayTerminate, bytes != passed.bytes else { return }
        passed = (bytes, now)
        spacing.refresh()
    }

    /// Whether a request is to be answered in the server's place, and the responses to those before it have come.
    var isAnswerDue: Bool {
        guard let answering else { return false }
        return reader.hasAnswered(requestsBefore: answering.request)
    }
}
