import Units

/// An interval of a drawing.
package struct PlanColumn: Sendable {
    package var begin: Moment
    package var end: Moment
    /// What the profile lets pass.
    package var capacity: NetworkTimeline.Capacity
    /// The bytes that arrive, and parts of one.
    package var bytes = 0.0
    /// What arrives, in bits per second; `nil` where nothing is predicted.
    package var rate: Double?
    /// The least, the mean and the longest delay of the bytes that arrive; `nil` where none was measured.
    package var delay: (least: Duration, mean: Duration, longest: Duration)?
}
