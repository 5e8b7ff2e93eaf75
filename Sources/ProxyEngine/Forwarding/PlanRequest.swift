import EventLoop
import FaultPlan
import FaultProfile
import Units

/// A connection whose client has named a host, so that the listener, which plans connections, can make its faults.
struct PlanRequest: Sendable {
    let loop: EventLoop
    /// Makes the faults. What it returns is called on the connection's loop, in order with the changes of the profile.
    let make: @Sendable (inout Admitter) -> @Sendable () -> Void
}

extension Listener {
    /// Makes the faults of a connection.
    func makePlan(_ request: PlanRequest) {
        let answer = request.make(&admitter)
        // Another profile may reach the loop next, and is applied to these faults then.
        if request.loop === loop { return answer() }
        request.loop.postBeyondLimit(answer)
    }
}

extension ProxyConfiguration.Destination {
    func facts(client: String?, target: HostName? = nil, name: HostName? = nil) -> ConnectionFacts {
        let port = upstream.flatMap { $0.unix == nil ? $0.port : nil }
        return ConnectionFacts(client: client, target: target, name: name, port: port)
    }
}

extension Connection {
    /// What triggers may ask about the connection. Its client's address, which costs a text, may be left out.
    func facts(withClient: Bool = true) -> ConnectionFacts {
        let client = withClient ? client.peerAddress?.host : nil
        var facts = shard.context.configuration.destination.facts(client: client, target: host, name: name)
        facts.numberAtTarget = numberAtTarget > 0 ? numberAtTarget : nil
        facts.program = local?.program
        return facts
    }

    /// Has the listener make the faults of the connection from its plan, and calls `body` with them.
    func request<Faults: Sendable>(
        _ make: @escaping @Sendable (inout Admitter) -> Faults,
        for body: @escaping @Sendable (Connection, Faults) -> Void
    ) {
        let bound = LoopBound(self, on: loop)
        let request = PlanRequest(loop: loop) { admitter in
            let faults = make(&admitter)
            return { body(bound.value, faults) }
        }
        // Without a listener the proxy is stopping, and ends the connection.
        shard.context.listener.post(.plan(request))
    }
}
