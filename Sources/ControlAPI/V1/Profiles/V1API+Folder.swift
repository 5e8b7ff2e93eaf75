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
        return (reports + (await applyFolder())).sorted()
    }

    /// Gives the profiles of the folder, as they are now, to the proxies that have them by their names, such as those of a
    /// state.
    ///
    /// - Returns: why that isn't possible, a line for each proxy.
    package func applyFolder() async -> [String] {
        var reports: [String] = []
        for proxy in proxies.all {
            let state = proxy.state
            guard let name = state.baseReference, profiles.isInFolder(name), let profile = try? profiles.profile(name),
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
        return reports
    }

    /// The files that the profiles of the folder name.
    package var folderFiles: [String] { profiles.folderFiles }

    /// Tells event streams of a problem of the folder itself.
    package func noteFolderProblem(_ text: String) { journal.notices.noteProblem(text) }
}
