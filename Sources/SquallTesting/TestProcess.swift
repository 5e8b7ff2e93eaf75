internal import Foundation
internal import OperatingSystem
public import SquallProxy
internal import Synchronization

/// A command behind the network of a test: every TCP connection that it opens, or a process that it starts, meets the profile.
///
/// ```swift
/// @Test(.network(.profile("first-two-fail"), seeds: 1...3))
/// func `the importer survives two cuts`() async throws {
///     let importer = try TestProcess.start(["./importer", "--from", "http://127.0.0.1:8080/file"])
///     #expect(try await importer.end() == .exit(0))
///     #expect(importer.faults.count == 2)
/// }
/// ```
///
/// `squall exec` runs it, so the command `squall` has to be in PATH, or named by the environment variable `SQUALL`; Linux only.
/// When the test ends, so do the command and everything that it has started, also if the program of the tests is killed.
public final class TestProcess: Sendable, CustomStringConvertible {
    /// How a command has ended.
    public enum End: Hashable, Sendable {
        /// It exited with this code.
        case exit(Int32)
        /// This signal ended it.
        case signal(Int32)
    }

    /// A connect of the command, or of a process that it has started, that has an outcome.
    public struct Connect: Hashable, Sendable {
        /// Where to: "127.0.0.1:5432".
        public let target: String
        /// The program's name: "psql".
        public let program: String?
        /// `connected`, `closed`, or the name of the error: `ECONNREFUSED`.
        public let outcome: String
    }

    /// The most bytes that are read of an output, and of a journal: 16 MiB.
    public static let outputLimit = 16 << 20

    /// The name among the processes of its test: "process", then "process-2".
    public let name: String
    /// The command and its arguments.
    public let command: [String]
    /// The seed of every draw.
    public let seed: UInt64

    let hasHadFaults: Bool
    private let profile: String
    private let folder: ProcessFolder
    private let child: ChildProcess
    private let isEnding = Atomic<Bool>(false)

    /// Starts a command behind the network of the current test: with the profile and the seed of its trait.
    ///
    /// Its input is empty. What it writes is kept in files until the process is no longer used. The command has no
    /// descriptors of this process but its standard ones.
    ///
    /// - Parameters:
    ///   - command: The command, a path or a name in PATH, and its arguments.
    ///   - options: Options of `squall exec`: `["--only", ":5432"]`.
    ///   - environment: Variables beside those of this process, which they replace.
    /// - Throws: A `TestNetworkError` in a test without the trait, after its end, or if there is no `squall`; a
    ///   `FaultProxyError` if the profile has problems.
    @discardableResult
    public static func start(
        _ command: [String],
        options: [String] = [],
        environment: [String: String] = [:]
    ) throws -> TestProcess {
        guard let scope = NetworkScope.current else {
            throw TestNetworkError.noNetwork
        }
        return try scope.start(command, options: options, environment: environment)
    }

    /// The first process that the current test has started, or its trait.
    ///
    /// - Throws: A `TestNetworkError` where there is none.
    public static var current: TestProcess {
        get throws {
            guard let process = NetworkScope.current?.processes.first else {
                throw TestNetworkError(
                    .noNetwork,
                    "there is no process here: give the test the trait .network(…, command: […]), or call TestProcess.start(_:)"
                )
            }
            return process
        }
    }

    init(
        _ command: [String],
        behind profile: NetworkProfile,
        seed: UInt64?,
        name: String,
        options: [String],
        environment: [String: String]
    ) throws {
        try TestProcess.check(command, options)
        let (usual, hasFaults) = try profile.summary(for: "exec")
        (self.command, self.name, self.profile) = (command, name, profile.description)
        (self.seed, hasHadFaults) = (seed ?? usual ?? 1, hasFaults)
        folder = try ProcessFolder()
        let (word, input) = profile.argument
        let files = try folder.streams(reading: input ?? "")
        let variables = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        let squall = variables["SQUALL"].flatMap { $0.isEmpty ? nil : $0 } ?? "squall"
        // Its own words come last, so that they count. Where these tests are killed, it ends as well.
        let own = ["--seed", "\(self.seed)", "--journal", folder.path(.journal), "--parent", "\(getpid())"]
        let words = options + own + ["--"] + command
        do throws(SystemError) {
            child = try ChildProcess([squall, "exec", word] + words, environment: variables, files: files)
        } catch {
            throw TestNetworkError(
                .noCommand,
                "can't run “\(squall)”: \(error); install the command (make install), or name it by the environment variable SQUALL"
            )
        }
    }

    private static func check(_ command: [String], _ options: [String]) throws(TestNetworkError) {
        guard !command.isEmpty else {
            throw TestNetworkError(.notStarted, "the command is empty: give a program and its arguments")
        }
        let own = ["--seed", "--journal", "--parent", "--print-profile", "--version", "--help", "-h", "--"]
        for option in options {
            let name = String(option.prefix { $0 != "=" })
            guard own.contains(name) else { continue }
            throw TestNetworkError(
                .notStarted,
                "options can't have “\(option)”: "
                    + (["--seed", "--journal"].contains(name)
                        ? "the seed is that of the test, and the journal that of the process"
                        : "they are those of squall exec for a command that runs")
            )
        }
    }

    /// Waits for the end of the command and of every process that it has started. When the task is cancelled, they are ended.
    ///
    /// After `stop()` it may be the end of Squall: `.exit(143)` or a signal.
    ///
    /// - Throws: A `TestNetworkError` if it hasn't been run: there is no such command, an option is wrong, or this system doesn't let
    ///   Squall do it. A `CancellationError` if the task was cancelled.
    public func end() async throws -> End {
        let end = await withTaskCancellationHandler {
            await child.end()
        } onCancel: {
            terminate()
        }
        try Task.checkCancellation()
        // Stopped early, Squall may not have begun its journal.
        if !isEnding.load(ordering: .relaxed), let reason = failure(of: end) {
            throw TestNetworkError(.notStarted, reason)
        }
        return switch end {
        case .exit(let code): .exit(code)
        case .signal(let number): .signal(number)
        }
    }

    /// Ends the command by SIGTERM, and what is left of it and of the processes that it has started 2 s later by SIGKILL. Waits for
    /// their end. Calling it twice is fine.
    public func stop() async {
        terminate()
        _ = await child.end()
    }

    /// Squall passes SIGTERM on to the command, the first one. At the second it has the command killed and all that this has
    /// started. When it is killed itself, its guard does that, a moment later.
    func terminate() {
        guard !isEnding.exchange(true, ordering: .relaxed) else { return }
        child.signal(SIGTERM)
        // Detached, so that it doesn't keep the test's values alive.
        Task.detached { [child] in
            try await Task.sleep(for: .seconds(2))
            child.signal(SIGTERM)
            try await Task.sleep(for: .seconds(11))
            child.signal(SIGKILL)
        }
    }

    /// The command's standard output so far, at most its first 16 MiB.
    public var output: String { folder.text(.output) }

    /// The standard error of the command and of Squall so far, at most its first 16 MiB.
    public var errors: String { folder.text(.errors) }

    /// The journal as JSON Lines; `squall replay` reads it.
    public var journal: String { folder.text(.journal) }

    /// The events of faults so far, oldest first.
    public var faults: [FaultEvent] { ProcessJournal(journal).faults }

    /// The connects that have an outcome so far, oldest first.
    public var connects: [Connect] { ProcessJournal(journal).connects }

    /// The command, the profile, the seed and the number of fault events, on one line.
    public var description: String {
        let (word, count) = (command.first ?? "", faults.count)
        return "“\(word)” behind profile “\(profile)”, seed \(seed), \(count) fault event\(count == 1 ? "" : "s")"
    }

    /// Squall's own reason for which the command wasn't run.
    private func failure(of end: ChildProcess.End) -> String? {
        let lines = errors.split(separator: "\n")
        // The journal is begun when the options and the profile are right.
        guard folder.has(.journal) else {
            let line = lines.last { $0.hasPrefix("squall: ") || $0.hasPrefix("Error: ") } ?? ""
            guard !line.isEmpty, !line.contains("'--parent'") else {
                return
                    "squall is no command of this version of SquallTesting, or isn't Squall's: install the same version"
            }
            return String(line.split(separator: " ", maxSplits: 1)[1])
        }
        guard case .exit(let code) = end, [125, 126, 127].contains(code), connects.isEmpty else { return nil }
        // The command may exit with these as well, behind a notice of Squall's.
        let sign = code == 125 ? "squall: " : "squall: can't run "
        return lines.last { $0.hasPrefix(sign) }.map { String($0.dropFirst("squall: ".count)) }
    }
}
