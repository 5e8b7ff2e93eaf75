import FaultProfile
import Units

extension Scenario {
    /// Why a run failed, a sentence each; none if it passed.
    ///
    /// - Parameters:
    ///   - coverage: what each proxy's profile has shown; none where phases needn't be met.
    ///   - digests: by path the SHA-256 of each file of the expectations.
    package func failures(
        _ ending: RunReport.Ending,
        _ measurements: Measurements,
        coverage: [Coverage] = [],
        digests: [String: Result<String, Expectation.DigestFailure>]
    ) -> [String] {
        var reasons: [String] = []
        switch ending {
        case .timeLimit(let limit):
            reasons = ["the command didn't end within \(limit.text)"]
        case .guardLost(let wasStopped):
            let what = wasStopped ? "stopped" : "killed"
            reasons = ["the process that guards the command was \(what), so all that it had started was killed"]
        case .interrupted, .notRun:
            return []
        case .exit, .signal:
            if let reason = exitFailure(ending, measurements) { reasons.append(reason) }
            reasons += expectations.compactMap { $0.failure(of: measurements, digests: digests) }
            if requiresPhases { reasons += coverage.compactMap { $0.failure } }
        }
        // A dead upstream is no failure by itself: the command may be about one. It comes first as the cause of others.
        return reasons.isEmpty ? [] : deadUpstreams(of: measurements) + refusedClients(of: measurements) + reasons
    }

    private func exitFailure(_ ending: RunReport.Ending, _ measurements: Measurements) -> String? {
        guard !expectations.contains(where: \.isAboutExit), measurements.exit != 0 else { return nil }
        if case .signal(let number) = ending { return "the command was ended by signal \(number)" }
        return "the command exited with \(measurements.exit)"
    }

    /// A sentence for each proxy that couldn't reach its upstream.
    private func deadUpstreams(of measurements: Measurements) -> [String] {
        measurements.proxies.compactMap { proxy in
            proxy.upstreamFailure.map { "the proxy “\(proxy.name)” can't reach its upstream \($0)" }
        }
    }

    /// A sentence for each proxy with a client that TLS has failed with.
    private func refusedClients(of measurements: Measurements) -> [String] {
        measurements.proxies.compactMap { proxy in proxy.clientFailure.map { "the proxy “\(proxy.name)”: \($0)" } }
    }

    /// Says that no connection of a supervised command was redirected.
    package static let noChosenTarget = "the command opened no TCP connection that --only and --except choose"

    /// Why a run shows nothing; `nil` if a connection reached its upstream and a fault acted.
    ///
    /// - Parameter time: how long the proxies were there.
    package func emptiness(_ measurements: Measurements, of stageCase: StageCase, time: Duration) -> RunReport
        .Emptiness?
    {
        guard measurements.connections > 0 else {
            let names = proxies.map { $0.listening == .tls ? "{\($0.name).url}" : "{\($0.name)}" }
            let why =
                isSupervised
                ? Scenario.noChosenTarget
                : "does the command use \(names.joined(separator: ", "))?"
            let reason = "no connection came, so the run shows nothing: \(why)"
            return RunReport.Emptiness(reason: reason, isFailure: !allowsVacuous)
        }
        let dead = deadUpstreams(of: measurements)
        if dead.count == measurements.proxies.count(where: { $0.connections > 0 }) {
            // The reasons of a command that failed have it already.
            let why = measurements.exit == 0 ? ": \(dead.joined(separator: "; "))" : ""
            let reason = "no connection reached a server, so the run shows nothing\(why)"
            return RunReport.Emptiness(reason: reason, isFailure: !allowsVacuous)
        }
        guard measurements.faults == 0 else { return nil }
        let refused = measurements.exit == 0 ? refusedClients(of: measurements) : []
        let misses = zip(stageCase.profiles, measurements.proxies).compactMap { profile, figures in
            NearestMiss(profile, seed: stageCase.seed, figures: figures, time: time).text.map { miss in
                proxies.count > 1 ? "\(figures.name): \(miss)" : miss
            }
        }
        let reason = "no fault of the profile acted, so the run shows nothing"
        let why = refused.first ?? (measurements.proxies.contains { $0.clientFailure != nil } ? nil : misses.first)
        return RunReport.Emptiness(reason: why.map { "\(reason): \($0)" } ?? reason, isFailure: false)
    }

    /// Has the runs of each profile fail if all of them show nothing. Runs of an interrupted stage are left as they are.
    package func judgeEmptiness(of runs: inout [RunReport]) {
        guard !allowsVacuous else { return }
        for name in Set(runs.map(\.profile)) {
            let places = runs.indices.filter { runs[$0].profile == name }
            guard places.allSatisfy({ runs[$0].emptiness != nil }) else { continue }
            for place in places { runs[place].emptiness?.isFailure = true }
        }
    }
}
