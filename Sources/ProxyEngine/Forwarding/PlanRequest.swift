import EventLoop
import FaultPlan
import Units

/// A connection whose client has named a host, so that the listener, which owns the plan, can make its faults.
struct PlanRequest: Sendable {
    /// What is asked for. The closures are called on the connection's loop, in order with the changes of the profile.
    enum Answer: Sendable {
        /// The plan of a connection whose target is known, and which has none.
        case plan(@Sendable (ConnectionPlan) -> Void)
        /// The faults that the name in the client's first bytes brings to a live connection.
        case update(name: String, @Sendable (ConnectionUpdate) -> Void)
    }

    /// The connection's number.
    let connection: UInt64
    /// The moment of its acceptance.
    let opened: Moment
    /// The client's address without the port, if known.
    let client: String?
    /// The host of the target, if the client has named one in a handshake.
    let target: String?
    /// The connection's loop.
    let loop: EventLoop
    let answer: Answer
}

extension Listener {
    /// Makes the faults of a connection.
    func makePlan(_ request: PlanRequest) {
        let answer: @Sendable () -> Void
        switch request.answer {
        case .plan(let done):
            let plan = planConnection(request)
            answer = { done(plan) }
        case .update(let name, let done):
            let update = updateConnection(request, name)
            answer = { done(update) }
        }
        // Another profile may reach the loop next, and is applied to these faults then.
        if request.loop === loop { return answer() }
        request.loop.postBeyondLimit(answer)
    }
}
