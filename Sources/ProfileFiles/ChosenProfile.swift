import FaultProfile
import OperatingSystem
import TerminalDisplay

/// The profile of a command: a named one, the faults of options, or both.
package struct ChosenProfile: Sendable {
    /// The profile as the command line names it, if it does.
    package let reference: String?
    /// The faults in addition to it.
    let faults: EverydayFaults
    /// The hosts that all faults are narrowed to; empty for no narrowing.
    package var hosts: [HostPattern] = []

    /// The choice of a command line.
    package init(reference: String?, faults: EverydayFaults) { (self.reference, self.faults) = (reference, faults) }

    /// Reads the profile, adds the faults, and narrows them to the hosts. Notes the profile's files in `inputs`.
    package func read(noting inputs: InputFiles = InputFiles()) throws(CommandFailure) -> Profile {
        let profile = try merged(noting: inputs)
        guard !hosts.isEmpty else { return profile }
        if let fault = profile.allFaults.first(where: { $0.kind.countsConnections }) {
            throw .wrongInput(
                "--host: the fault “\(fault.name)” counts every open connection, so it can't be for some hosts: leave it out"
            )
        }
        return profile.mapFaults { fault in
            var fault = fault
            fault.condition = fault.condition.narrowed(to: Condition(hosts: hosts))
            return fault
        }
    }

    private func merged(noting inputs: InputFiles) throws(CommandFailure) -> Profile {
        guard let reference else {
            try check(faults.profile)
            return faults.profile
        }
        let profile = faults.added(to: try ProfileLibrary.profile(reference, noting: inputs))
        if !faults.isEmpty { try check(profile) }
        return profile
    }

    /// Why the profile can't be read again while the command runs, with a remedy; `nil` if it can.
    package var reasonAgainstReload: (what: String, remedy: String)? {
        switch reference {
        case nil: ("the faults of options have no file to read again", "write them to a file with --print-profile")
        case StandardInput.reference?: ("standard input can't be read again", "name a file")
        case let path? where DetachedProgram.startedDetached && Self.isDescriptor(path):
            ("a descriptor can't be read again in the background", "name a file")
        case _?: nil
        }
    }

    /// Whether a path names a descriptor of this process, which `DetachedProgram` closes.
    private static func isDescriptor(_ path: String) -> Bool {
        ["/dev/fd/", "/dev/stdin", "/proc/self/fd/"].contains { path.hasPrefix($0) }
    }

    private func check(_ profile: Profile) throws(CommandFailure) {
        guard profile.allFaults.count > ProfileLimits.faults else { return }
        throw .wrongInput(
            "the profile has more than \(ProfileLimits.faults) faults with those of the options: give fewer options"
        )
    }
}

extension Profile {
    /// Refuses a profile that has faults, but only for proxies with other names than `name`.
    ///
    /// - Parameter remedy: what to do, in words.
    package func check(actsOn name: String, _ remedy: String) throws(CommandFailure) {
        guard hasFaultsOfProxies, !allFaults.isEmpty, narrowed(to: name).allFaults.isEmpty else { return }
        let others = proxies.isEmpty ? "" : " (it has \(proxies.map(\.name).joined(separator: ", ")))"
        throw .wrongInput("the profile has no fault for a proxy called “\(name)”: \(remedy)\(others)")
    }
}
