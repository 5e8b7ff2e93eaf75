internal import FaultProfile
internal import Journal
internal import ProxyEngine
internal import Synchronization

extension FaultProxy {
    /// Replaces the faults, on open connections as well. It waits for no connection, and no connection loses a byte.
    ///
    /// An unchanged fault keeps its state. A new one starts at the current position of each connection: a cut at an offset
    /// that has passed never acts. The seed and the clock of the phases go on.
    ///
    /// - Throws: A `FaultProxyError`; nothing has changed then.
    public func apply(_ profile: NetworkProfile) async throws(FaultProxyError) {
        let (next, description) = (try profile.read(for: name), profile.description)
        try await changes.withLock { () async throws(FaultProxyError) in
            try checkRuns()
            try await apply(next, description)
        }
    }

    /// Adds a fault that is always on, or replaces the one of the same name; the others keep their state. Calls for one proxy
    /// follow each other, in the order in which they come.
    ///
    /// - Throws: A `FaultProxyError`; nothing has changed then.
    public func set(_ fault: NetworkFault) async throws(FaultProxyError) {
        guard let new = try NetworkProfile.faults([fault]).read().faults.first else { return }
        try await change { faults in
            if let index = faults.firstIndex(where: { $0.name == new.name }) {
                faults[index] = new
            } else {
                faults.append(new)
            }
            return true
        }
    }

    /// Removes the fault of this name from those that are always on; the others keep their state. Without `named(_:)` it is
    /// the kind, such as "latency".
    ///
    /// - Returns: `false` if there is none.
    /// - Throws: A `FaultProxyError`; nothing has changed then.
    @discardableResult
    public func remove(fault name: String) async throws(FaultProxyError) -> Bool {
        try await change { faults in
            let count = faults.count
            faults.removeAll { $0.name == name }
            return faults.count < count
        }
    }

    /// Changes the faults that are always on; returns what `body` does, and changes nothing if that is `false`.
    @discardableResult
    private func change(_ body: @Sendable (inout [Fault]) -> Bool) async throws(FaultProxyError) -> Bool {
        try await changes.withLock { () async throws(FaultProxyError) in
            try checkRuns()
            var (next, description) = following.withLock { ($0.current, $0.profile) }
            guard body(&next.faults) else { return false }
            if !description.hasSuffix(", changed") { description += ", changed" }
            try await apply(next, description)
            return true
        }
    }

    /// Called within `changes`, as `stop` is.
    private func checkRuns() throws(FaultProxyError) {
        if following.withLock({ $0.isStopped }) { throw .stopped }
    }

    private func apply(_ next: Profile, _ description: String) async throws(FaultProxyError) {
        try await changing { () throws(ProxyError) in try proxy.check(next) }
        let generation = following.withLock { following in
            following.generation += 1
            following.profile = description
            following.current = next
            following.hasHadFaults = following.hasHadFaults || !next.allFaults.isEmpty
            return following.generation
        }
        recorder.noteProfile(next.inJournal, digest: ProfileDigest.text(of: next.inJournal), generation: generation)
        try await changing { () throws(ProxyError) in try await proxy.apply(next) }
    }

    /// Moves the clock to the first time at which a phase begins. A paused clock stays paused.
    ///
    /// - Throws: A `FaultProxyError` with the code `.unknownPhase` or `.stopped`; nothing has changed then.
    public func enter(phase: String) async throws(FaultProxyError) {
        try await changing { () throws(ProxyError) in try await proxy.setClock(.step(phase: phase)) }
    }

    /// Stops the clock of the phases: the current one goes on until `resumePhases`. Nothing if it is stopped.
    public func pausePhases() async throws(FaultProxyError) {
        try await changing { () throws(ProxyError) in try await proxy.setClock(.pause) }
    }

    /// Lets the clock of the phases run on. Nothing if it runs.
    public func resumePhases() async throws(FaultProxyError) {
        try await changing { () throws(ProxyError) in try await proxy.setClock(.resume) }
    }

    /// Sets the clock of the phases to zero and lets it run.
    public func restartPhases() async throws(FaultProxyError) {
        try await changing { () throws(ProxyError) in try await proxy.setClock(.restart) }
    }

    /// The name of the current phase; `nil` outside all phases.
    public var phase: String? { proxy.clock.phase }

    /// Ends an open connection in both directions: by RST with `reset`, else by FIN after the bytes that were handed over.
    ///
    /// - Returns: `false` if no open connection has the number.
    @discardableResult
    public func endConnection(_ number: UInt64, reset: Bool = true) async -> Bool {
        await proxy.endConnection(number, reset: reset)
    }

    private func changing<Result>(
        _ change: () async throws(ProxyError) -> Result
    ) async throws(FaultProxyError) {
        do throws(ProxyError) {
            _ = try await change()
        } catch {
            throw FaultProxyError(error)
        }
    }
}
