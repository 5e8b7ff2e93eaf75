import EventLoop
import FaultPlan
import FaultProfile
import Units

/// A connection whose client has named a host, so that the listener, which owns the plan, can make its faults.
struct PlanRequest: Sendable {
    /// What is asked for. The closures are called on the connection's loop, in order with the changes of the profile.
    enum Answer: Sendable {
        /// The number and the plan of a connection whose client has named its target.
        case plan(@Sendable (ConnectionPlan) -> Void)
        /// The faults that the name in the client's first bytes brings to the live connection of this number.
        case update(connection: UInt64, name: HostName, @Sendable (ConnectionUpdate) -> Void)
    }

    /// The moment of its acceptance.
    let opened: Moment
    /// The client's address without the port, if known.
    let client: String?
    /// The target, if the client has named one in a handshake.
    let target: HostName?
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
        case .update(let connection, let name, let done):
            let update = updateConnection(connection, request, name)
            answer = { done(update) }
        }
        // Another profile may reach the loop next, and is applied to these faults then.
        if request.loop === loop { return answer() }
        request.loop.postBeyondLimit(answer)
    }
}
