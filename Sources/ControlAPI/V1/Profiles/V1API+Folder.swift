import FaultProfile

extension V1API {
    /// The most profiles of a folder: 256.
    package static let folderLimit = 256

    /// Takes over the profiles of a folder, by their names, in the place of those before.
    ///
    /// A profile that has changed is applied to the proxies that have it by its name. A profile with a problem changes
    /// nothing; its last good text stays in use.
    ///
    /// - Returns: the first problem of each profile whose problems have changed; they are in event streams as well.
    package func takeFolder(_ sources: [String: ProfileSource]) async -> [String] {
        var reports: [String] = []
        for (name, problems) in profiles.takeFolder(sources) {
            guard let problem = problems.first else { continue }
            journal.notices.noteProblem("profile \(name): \(problem)")
            reports.append("\(problem)")
        }
        for proxy in proxies.all {
            let state = proxy.state
            guard let name = state.baseReference, sources[name] != nil, let profile = try? profiles.profile(name),
                profile != state.base
            else { continue }
            do throws(ControlError) {
                try await proxy.changeFaults { state throws(ControlError) in
                    // A request may have given it another one meanwhile.
                    if state.baseReference == name { state.base = profile }
                }
            } catch {
                journal.notices.noteProblem("profile \(name), proxy \(proxy.name): \(error.text)")
                reports.append("the profile “\(name)” can't be applied to the proxy “\(proxy.name)”: \(error.text)")
            }
        }
        return reports.sorted()
    }
}
