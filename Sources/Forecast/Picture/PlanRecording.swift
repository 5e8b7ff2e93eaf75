import FaultPlan
import FaultProfile
import Units

/// A run that happened, for drawing: the events of a proxy's journal.
package struct PlanRecording: Sendable {
    /// A line of the journal.
    package struct Event: Hashable, Sendable {
        /// When it happened, on the clock of the proxy; zero or later.
        package var moment: Moment
        /// The connection's number; `nil` for an event of the whole proxy.
        package var connection: UInt64?
        package var fault: String
        /// The offset, if a position decided.
        package var offset: Int64?
        /// The journal's word for the effect.
        package var what: String

        package init(moment: Moment, connection: UInt64?, fault: String, offset: Int64?, what: String) {
            self.moment = moment
            self.connection = connection
            self.fault = fault
            self.offset = offset
            self.what = what
        }
    }

    package let profile: Profile
    package let proxy: String
    package let seed: UInt64
    package let direction: Direction
    /// The events in the order of time.
    package let events: [Event]
    /// Whether the times count from the first event, because the journal doesn't tell when the clock started.
    package let startsAtFirstEvent: Bool

    package init(
        profile: Profile,
        proxy: String,
        seed: UInt64,
        direction: Direction,
        events: [Event],
        startsAtFirstEvent: Bool
    ) {
        self.profile = profile
        self.proxy = proxy
        self.seed = seed
        self.direction = direction
        self.events = events
        self.startsAtFirstEvent = startsAtFirstEvent
    }
}
