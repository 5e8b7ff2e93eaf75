import Foundation
import Glibc
import OperatingSystem
import Synchronization
import TestStreams

/// The exit status and output of a process.
struct Outcome: Sendable {
    /// The exit code; 128 plus the signal number for a signal, as in a shell.
    var status: Int32
    var output: String
    var errors: String

    /// The lines of standard output.
    var lines: [String] { output.split(separator: "\n").map(String.init) }
    /// The lines of standard output without progress events, whose `sent` isn't a digest.
    var milestones: [String] { lines.filter { !$0.contains("\"event\":\"progress\"") } }
    /// The lines of standard error.
    var errorLines: [String] { errors.split(separator: "\n").map(String.init) }
    /// The lines of standard error, without warnings about a busy machine.
    var complaints: [String] { errorLines.filter { !$0.contains("too busy to keep the times of the profile") } }
}

/// A program that runs concurrently with the test, with its outputs in pipes and no input.
///
/// Started with posix_spawn(3) and awaited on a thread. Foundation's `Process` sometimes misses the end of a process
/// when many run.
final class Child: Sendable {
    let output: TextStream
    let errors: TextStream
    private let process: pid_t
    private let exit = FirstValue<Int32>()
    /// Whether the process ID may have been reused.
    private let isGone = Mutex(false)

    /// Starts `program`; if `isHeard` is false, its standard output has no reader.
    init(
        _ program: URL,
        _ arguments: [String],
        environment: [String: String] = [:],
        folder: URL? = nil,
        isHeard: Bool = true
    ) throws {
        var inherited = ProcessInfo.processInfo.environment
        inherited["SQUALL_PROFILES"] = Repository.root.appendingPathComponent("Profiles").path
        let variables = inherited.merging(environment) { $1 }.map { "\($0)=\($1)" }
        let change = folder.map { ["/usr/bin/env", "-C", $0.path] } ?? []
        let outputReader: Int32
        let errorReader: Int32
        (process, outputReader, errorReader) = try Child.starting.withLock { _ in
            try Child.start(change + [program.path] + arguments, variables)
        }
        output = TextStream(reading: outputReader, isHeard: isHeard)
        errors = TextStream(reading: errorReader)
        Thread.detachNewThread { [self] in
            // Waits without reaping, so that the process ID stays reserved.
            var information = siginfo_t()
            while waitid(P_PID, id_t(process), &information, WEXITED | WNOWAIT) != 0, errno == EINTR {}
            var status: Int32 = 0
            isGone.withLock { isGone in
                waitpid(process, &status, 0)
                isGone = true
            }
            let signal = status & 0x7F
            exit.resolve(signal == 0 ? (status >> 8) & 0xFF : 128 + signal)
        }
    }

    /// One start at a time: a child started between creating and marking a pipe would inherit it.
    private static let starting = Mutex(())

    private static func start(
        _ arguments: [String],
        _ environment: [String]
    ) throws -> (process: pid_t, output: Int32, errors: Int32) {
        let (outputReader, outputWriter) = try pipe()
        let (errorReader, errorWriter) = try pipe()
        defer {
            close(outputWriter)
            close(errorWriter)
        }
        let process = try spawn(arguments, environment, output: outputWriter, errors: errorWriter)
        return (process, outputReader, errorReader)
    }

    private static func pipe() throws -> (reader: Int32, writer: Int32) {
        var ends: [Int32] = [-1, -1]
        guard Glibc.pipe(&ends) == 0 else { throw Complaint("pipe: errno \(errno)") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (ends[0], ends[1])
    }

    private static func spawn(
        _ arguments: [String],
        _ environment: [String],
        output: Int32,
        errors: Int32
    ) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO)
        posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO)
        // The test process blocks signals in some threads, and those that run in the background or by nohup(1) ignore some;
        // programs start with none blocked, and end at those that tests send.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        for signal in [SIGHUP, SIGINT, SIGQUIT, SIGTERM] { sigaddset(&signals, signal) }
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
        let words = arguments.map { strdup($0) } + [nil]
        let variables = environment.map { strdup($0) } + [nil]
        defer { for text in words + variables { free(text) } }
        var process: pid_t = 0
        let code = posix_spawn(&process, arguments[0], &actions, &attributes, words, variables)
        guard code == 0 else { throw Complaint("can't start \(arguments[0]): errno \(code)") }
        return process
    }

    /// Sends a signal, unless the process has ended.
    func signal(_ number: Int32) {
        isGone.withLock { isGone in
            if !isGone { _ = Glibc.kill(process, number) }
        }
    }

    /// Sends a signal again and again until the process has ended: one soon after the first counts as the first.
    func insist(_ number: Int32) async {
        _ = await eventually {
            signal(number)
            return isGone.withLock { $0 }
        }
    }

    /// Waits until the process and its outputs have ended.
    func finish() async -> Outcome {
        let status = await exit.value
        return Outcome(status: status, output: await output.text(), errors: await errors.text())
    }

    /// The next line of standard output that contains `text`; fails when there is none.
    func line(with text: String) async throws -> String { try await line(with: text, of: output) }

    /// The next line of standard error that contains `text`; fails when there is none.
    func errorLine(with text: String) async throws -> String { try await line(with: text, of: errors) }

    private func line(with text: String, of stream: TextStream) async throws -> String {
        if let line = await stream.line(where: { $0.contains(text) }) { return line }
        let outcome = await finish()
        throw Complaint("no line with “\(text)”, and the process ended with \(outcome)")
    }
}

/// Runs `program` during `body`; the process has ended afterwards, whatever `body` does.
func withChild<Result>(
    _ program: URL,
    _ arguments: [String],
    environment: [String: String] = [:],
    folder: URL? = nil,
    isHeard: Bool = true,
    _ body: (Child) async throws -> Result
) async throws -> Result {
    let child = try Child(program, arguments, environment: environment, folder: folder, isHeard: isHeard)
    return try await withTaskCancellationHandler {
        try await ending(child, after: body) {
            child.signal(SIGKILL)
            _ = await child.finish()
        }
    } onCancel: {
        child.signal(SIGKILL)
    }
}
