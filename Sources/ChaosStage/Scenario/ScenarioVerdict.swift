import FaultProfile
import Units

extension Scenario {
    /// Why a run failed, a sentence each; none if it passed.
    ///
    /// - Parameter digests: by path the SHA-256 of each file of the expectations.
    public func failures(
        _ ending: RunReport.Ending,
        _ measurements: Measurements,
        digests: [String: Result<String, Expectation.DigestFailure>]
    ) -> [String] {
        if case .timeLimit(let limit) = ending { return ["the command didn't end within \(limit.text)"] }
        var reasons: [String] = []
        if !expectations.contains(where: \.isAboutExit), measurements.exit != 0 {
            switch ending {
            case .signal(let number): reasons.append("the command was ended by signal \(number)")
            case .exit, .timeLimit: reasons.append("the command exited with \(measurements.exit)")
            }
        }
        reasons += expectations.compactMap { $0.failure(of: measurements, digests: digests) }
        if !allowsVacuous, measurements.connections == 0 {
            let names = proxies.map { "{\($0.name)}" }.joined(separator: ", ")
            reasons.append("no connection came, so the run shows nothing: does the command use \(names)?")
        }
        return reasons
    }

    /// Adds to the runs of each profile that no fault acted, if none did in any of them.
    public func noteVacuous(_ runs: inout [RunReport]) {
        guard !allowsVacuous else { return }
        for name in Set(runs.map(\.profile)) {
            let places = runs.indices.filter { runs[$0].profile == name }
            guard places.allSatisfy({ runs[$0].measurements.faults == 0 && runs[$0].measurements.connections > 0 })
            else { continue }
            for place in places {
                runs[place].reasons.append("no fault of the profile acted, so the run shows nothing")
            }
        }
    }
}
