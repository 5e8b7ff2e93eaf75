import EventLoop
import FaultPlan
import FaultProfile
import Foundation
import Glibc
import ProxyEngine
import Units

/// A command that is run through a proxy, to see whether it fails.
struct Trial {
    /// The command and its arguments; `{proxy}` in them is the proxy's address.
    let command: [String]
    /// How long it may take.
    let patience: Duration
    let upstream: Endpoint
    /// The proxy of the journal.
    let proxy: JournalHeader.ProxyEntry
    /// Where a result is written, without the endings.
    let output: String

    /// Whether the command fails through a proxy with `profile`.
    func fails(with profile: Profile, on loops: EventLoopGroup) async throws -> Bool {
        try await run(configuration(profile), on: loops) { _ in }
    }

    /// The same, with a journal in the file of the output.
    func record(_ profile: Profile, on loops: EventLoopGroup) async throws -> Bool {
        let writer: LineWriter
        do {
            writer = try LineWriter(path: output + ".jsonl")
        } catch {
            throw CommandFailure.wrongInput("can't write “\(output).jsonl”: \(error)")
        }
        let configuration = configuration(profile)
        let journal = Journal(writer, header: JournalHeader(of: [configuration], at: MonotonicClock.now))
        let fails = try await run(configuration, on: loops) { journal.record($0) }
        if let failure = writer.flush().failure {
            throw CommandFailure.failed("the journal is incomplete: \(failure)")
        }
        return fails
    }

    private func configuration(_ profile: Profile) -> ProxyConfiguration {
        var configuration = ProxyConfiguration(
            name: proxy.name,
            listen: Endpoint(host: "127.0.0.1", port: 0),
            upstream: upstream,
            profile: profile,
            seed: proxy.seed
        )
        configuration.clockStart = proxy.clockStart(at: MonotonicClock.now)
        return configuration
    }

    private func run(
        _ configuration: ProxyConfiguration,
        on loops: EventLoopGroup,
        journal: @escaping @Sendable (JournalEntry) -> Void
    ) async throws -> Bool {
        let running: Proxy
        do throws(ProxyError) {
            running = try await Proxy.start(configuration, on: loops, journal: journal)
        } catch {
            throw CommandFailure.failed(error.description)
        }
        let status = await execute(through: "\(running.address)")
        await running.stop()
        switch status {
        case .success(let fails): return fails
        case .failure(let failure): throw failure
        }
    }

    /// Runs the command to its end, or ends it: by SIGTERM when its time is over, and by SIGKILL 2 s later.
    private func execute(through address: String) async -> Result<Bool, CommandFailure> {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["--"] + command.map { $0.replacing("{proxy}", with: address) }
        process.environment = ProcessInfo.processInfo.environment.merging(["SQUALL_PROXY": address]) { $1 }
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        let patience = patience
        let watch = Task {
            try await Task.sleep(for: patience)
            process.terminate()
            try await Task.sleep(for: .seconds(2))
            _ = kill(process.processIdentifier, SIGKILL)
        }
        defer { watch.cancel() }
        do {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                process.terminationHandler = { _ in continuation.resume() }
                do {
                    try process.run()
                } catch {
                    process.terminationHandler = nil
                    continuation.resume(throwing: error)
                }
            }
        } catch {
            return .failure(.failed("can't run \(command[0]): \(FileProblem.reason(error))"))
        }
        let code = process.terminationStatus
        // env(1) itself ends so where it can't find, or may not run, the command.
        if process.terminationReason == .exit, code == 126 || code == 127 {
            return .failure(.wrongInput("can't run “\(command[0])” (exit code \(code)): is it there?"))
        }
        return .success(process.terminationReason != .exit || code != 0)
    }
}
