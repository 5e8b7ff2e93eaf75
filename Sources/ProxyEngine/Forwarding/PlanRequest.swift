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
        case update(connection: UInt64, @Sendable (ConnectionUpdate) -> Void)
    }

    /// The moment of its acceptance.
    let opened: Moment
    let facts: ConnectionFacts
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
            let plan = self.plan.accept(at: request.opened, request.facts)
            answer = { done(plan) }
        case .update(let connection, let done):
            let update = plan.update(ofConnection: connection, opened: request.opened, request.facts)
            answer = { done(update) }
        }
        // Another profile may reach the loop next, and is applied to these faults then.
        if request.loop === loop { return answer() }
        request.loop.postBeyondLimit(answer)
    }
}

extension ProxyConfiguration.Destination {
    /// The facts about a connection to it that are known.
    func facts(client: String?, target: HostName? = nil, name: HostName? = nil) -> ConnectionFacts {
        let port = upstream.flatMap { $0.unix == nil ? $0.port : nil }
        return ConnectionFacts(client: client, target: target, name: name, port: port)
    }
}

extension Connection {
    /// What triggers may ask about the connection. Its client's address, which costs a text, may be left out.
    func facts(withClient: Bool = true) -> ConnectionFacts {
        let client = withClient ? client.peerAddress?.host : nil
        return shard.context.configuration.destination.facts(client: client, target: host, name: name)
    }

    /// Has the listener make the faults of the connection, of which `facts` are known.
    func request(_ facts: ConnectionFacts, _ answer: PlanRequest.Answer) {
        // Without a listener the proxy is stopping, and ends the connection.
        shard.context.listener.post(.plan(PlanRequest(opened: opened, facts: facts, loop: loop, answer: answer)))
    }
}
