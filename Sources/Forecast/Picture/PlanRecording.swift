import FaultPlan
import FaultProfile
import Units

/// A run that happened, for drawing: the events of a proxy's journal, or those of a capture.
package struct PlanRecording: Sendable {
    /// A line of the journal, or a packet.
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
    /// "The journal of proxy “proxy”, downstream, with seed 7".
    package let heading: String
    package let seed: UInt64
    package let direction: Direction
    /// The events in the order of time.
    package let events: [Event]
    /// What is to be known of the times, a sentence without its end.
    package let note: String?

    package init(
        profile: Profile,
        heading: String,
        seed: UInt64,
        direction: Direction,
        events: [Event],
        note: String?
    ) {
        self.profile = profile
        self.heading = heading
        self.seed = seed
        self.direction = direction
        self.events = events
        self.note = note
    }
}
