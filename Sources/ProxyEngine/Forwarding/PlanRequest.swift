import EventLoop
import FaultPlan
import Units

/// A connection whose client has named its target, so that the listener, which owns the plan, can make its faults.
struct PlanRequest: Sendable {
    /// The connection's number.
    let connection: UInt64
    /// The moment of its acceptance.
    let opened: Moment
    /// The client's address without the port, if known.
    let client: String?
    /// The host of the target.
    let host: String
    /// The connection's loop.
    let loop: EventLoop
    /// Called on `loop` with the plan, in order with the changes of the profile.
    let done: @Sendable (ConnectionPlan) -> Void
}

extension Listener {
    /// Makes the plan of a connection.
    func makePlan(_ request: PlanRequest) {
        let plan = planConnection(request)
        // Another profile may reach the loop next, and is applied to this plan then.
        if request.loop === loop { return request.done(plan) }
        request.loop.postBeyondLimit { request.done(plan) }
    }
}
