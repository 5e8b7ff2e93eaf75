internal import FaultProfile
internal import Foundation
internal import ShippedProfiles
internal import SystemPackage
internal import Units

/// The faults of a network: a shipped profile, a file, JSON text, or faults made in Swift.
///
/// It is read when a proxy starts with it or applies it; all problems are reported then, with their lines and columns, or the
/// number and kind of a fault made in Swift.
public struct NetworkProfile: Sendable, CustomStringConvertible {
    private enum Content {
        case reference(String)
        case text(String, file: String)
        case made(ProfileText)
    }

    private let content: Content
    /// A short description: the name of a shipped profile, a path, or the place of the text.
    public let description: String

    private init(_ content: Content, _ description: String) {
        self.content = content
        self.description = description
    }

    /// A network without faults.
    public static let clear = NetworkProfile(.text(#"{ "name": "clear" }"#, file: "clear"), "clear")

    /// A shipped profile by its name, as in `squall profiles`, or a file.
    ///
    /// - Parameter reference: The name of a shipped profile or preset. A text with a slash or the ending `.json` is the
    ///   path of a file, from the working directory: in `swift test`, the folder of the package.
    public static func profile(_ reference: String) -> NetworkProfile {
        NetworkProfile(.reference(reference), reference)
    }

    /// A profile as JSON text, at most 1 MiB.
    ///
    /// - Parameters:
    ///   - text: The profile. It may extend a shipped one: `"extends": "slow-3g"`. Paths in it are from the working
    ///     directory.
    ///   - file: The Swift file that has the text, for messages; lines and columns count within the text.
    ///   - line: The line in that file.
    public static func json(_ text: String, file: String = #fileID, line: Int = #line) -> NetworkProfile {
        // A slash would be part of the paths that the profile names.
        let name = file.split(separator: "/").last.map(String.init) ?? file
        return NetworkProfile(.text(text, file: "profile of \(name) line \(line)"), "\(name) line \(line)")
    }

    /// A profile of faults that are always on.
    public static func faults(_ faults: [NetworkFault]) -> NetworkProfile {
        NetworkProfile(.made(ProfileText(faults)), "faults")
    }

    /// A profile of phases, which follow each other on the clock of the proxy.
    ///
    /// - Parameters:
    ///   - phases: The phases, in order.
    ///   - faults: The faults that are always on.
    ///   - repeats: Whether the first phase follows the last.
    public static func phases(
        _ phases: [NetworkPhase],
        always faults: [NetworkFault] = [],
        repeats: Bool = false
    ) -> NetworkProfile {
        NetworkProfile(.made(ProfileText(phases, always: faults, repeats: repeats)), "phases")
    }

    /// Reads the profile, and everything that it names.
    ///
    /// - Throws: A `FaultProxyError` with the code `.invalidProfile` and all problems.
    public func check() throws(FaultProxyError) { _ = try read() }

    /// How a command is given the profile: its argument, and what it reads from standard input if that is `-`.
    package var argument: (word: String, input: String?) {
        switch content {
        case .reference(let reference): (reference, nil)
        case .text(let text, _): ("-", text)
        case .made(let made): ("-", made.text)
        }
    }

    /// The seed that the profile names, and whether it has faults for the proxy called `name`.
    ///
    /// - Throws: A `FaultProxyError` with the code `.invalidProfile` and all problems.
    package func summary(for name: String) throws(FaultProxyError) -> (seed: UInt64?, hasFaults: Bool) {
        let profile = try read(for: name)
        return (profile.seed, !profile.allFaults.isEmpty)
    }

    /// The part of the profile that acts on the proxy called `name`.
    ///
    /// - Throws: A `FaultProxyError` with the code `.invalidProfile`, also if all faults are for proxies of other names.
    func read(for name: String) throws(FaultProxyError) -> Profile {
        let profile = try read()
        let narrowed = profile.narrowed(to: name)
        guard narrowed.allFaults.isEmpty, !profile.allFaults.isEmpty else { return narrowed }
        let names = Set(profile.proxies.map(\.name) + profile.allFaults.flatMap(\.condition.proxies))
        // One that the profile defines is meant to have none.
        guard !names.contains(name) else { return narrowed }
        let listed = names.sorted().map(\.quoted).joined(separator: ", ")
        throw FaultProxyError(
            .invalidProfile,
            "\(description): the profile has no fault for a proxy called \(name.quoted), only for \(listed): give it one of these names"
        )
    }

    func read() throws(FaultProxyError) -> Profile {
        do throws(ProfileProblems) {
            return try ProfileReader.profile(from: try source(), resolving: ProfileFiles.resolve)
        } catch {
            let problems = error.problems.map { problem in
                guard case .made(let made) = content, problem.file == description else {
                    return ProfileProblem(problem)
                }
                return made.placed(problem)
            }
            throw FaultProxyError(error, problems)
        }
    }

    private func source() throws(ProfileProblems) -> ProfileSource {
        switch content {
        case .text(let text, let file):
            return ProfileSource(file: file, text: text)
        case .made(let made):
            try made.check()
            return ProfileSource(file: description, text: made.text)
        case .reference(let reference):
            switch ProfileFiles.resolve(ProfileReference(reference, in: "")) {
            case .success(let source): return source
            case .failure(let error):
                throw ProfileProblems(problems: [
                    Problem(file: reference, line: 1, column: 1, what: error.what, remedy: error.remedy)
                ])
            }
        }
    }
}

/// Finds the files that profiles name.
enum ProfileFiles {
    static func resolve(_ reference: ProfileReference) -> Result<ProfileSource, ResolutionError> {
        switch reference {
        case .shipped(let name): ShippedProfiles.source(named: name)
        case .path(let path): ShippedProfiles.source(at: path) ?? read(path, "profile", ProfileLimits.fileBytes)
        case .certificate(let path): read(path, "certificate", ProfileLimits.certificateBytes)
        case .trace(let path): ShippedProfiles.source(at: path) ?? read(path, "trace", ProfileLimits.traceBytes)
        }
    }

    /// Reads a regular file; a FIFO might block and a device never end. One byte above the limit lets the reader detect
    /// that a file is too long.
    private static func read(_ path: String, _ what: String, _ limit: Int) -> Result<ProfileSource, ResolutionError> {
        func failure(_ reason: String, _ remedy: String) -> Result<ProfileSource, ResolutionError> {
            let shown = path.shortened(to: ProfileLimits.pathLength)
            return .failure(ResolutionError(what: "can't read the \(what) “\(shown)”: \(reason)", remedy: remedy))
        }
        do {
            let file = try SystemPackage.FileDescriptor.open(
                FilePath(path),
                .readOnly,
                options: [.closeOnExec, .nonBlocking]
            )
            let handle = FileHandle(fileDescriptor: file.rawValue, closeOnDealloc: true)
            guard try file.stat().type == .regular else {
                return failure("it is no regular file", "name a regular file")
            }
            return .success(ProfileSource(file: path, bytes: Array(try handle.read(upToCount: limit + 1) ?? Data())))
        } catch {
            let reason = (error as? Errno).map { "\($0) (errno \($0.rawValue))" } ?? "\(error)"
            return failure(reason, "check the path, which is from the working directory")
        }
    }
}
