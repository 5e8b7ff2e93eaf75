import EventLoop
import FaultPlan
import FaultProfile
import FoundationEssentials
import Glibc
import Journal
import OperatingSystem
import ProfileFiles
import ProxyEngine
import ProxyRuntime
import TerminalDisplay
import Units

/// Runs a command through a proxy and reports whether it fails.
package struct CommandRun {
    /// The command and its arguments; `{proxy}` in them is the proxy's address.
    let command: [String]
    /// The time limit.
    let patience: Duration
    let upstream: Endpoint
    /// The proxy of the journal.
    let proxy: JournalHeader.ProxyEntry
    /// The variables that have the command trust the authority of its proxy.
    let trust: [String: String]
    /// Applies the limits and the TLS of a proxy.
    let limit: @Sendable (inout ProxyConfiguration) -> Void
    let files: ResultFiles

    /// A trial of `command` through `proxy`, in front of `upstream`.
    package init(
        command: [String],
        patience: Duration,
        upstream: Endpoint,
        proxy: JournalHeader.ProxyEntry,
        files: ResultFiles,
        trust: [String: String],
        limit: @escaping @Sendable (inout ProxyConfiguration) -> Void
    ) {
        (self.command, self.patience, self.upstream) = (command, patience, upstream)
        (self.proxy, self.files, self.trust, self.limit) = (proxy, files, trust, limit)
    }

    /// Whether the command fails through a proxy with `profile`.
    func fails(with profile: Profile, on loops: EventLoopGroup) async throws -> Bool {
        try await run(configuration(profile), on: loops) { _ in }
    }

    /// The same, and writes the result's journal; `nil`, without a journal, if the task was cancelled.
    func record(_ profile: Profile, on loops: EventLoopGroup) async throws -> Bool? {
        let output = OutputFile(path: files.journal)
        let file = try output.attempt { () throws(SystemError) in try FileReplacement(of: output.path) }
        let configuration = configuration(profile)
        let journal = JournalWriter(file.writer, header: JournalHeader(of: [configuration], at: MonotonicClock.now))
        let fails: Bool
        do {
            fails = try await run(configuration, on: loops) { journal.record($0) }
        } catch {
            file.discard()
            throw error
        }
        journal.finish()
        // The result of a command ended by the signal doesn't count.
        guard !Task.isCancelled else {
            file.discard()
            return nil
        }
        try output.attempt { () throws(SystemError) in try file.commit() }
        return fails
    }

    private func configuration(_ profile: Profile) -> ProxyConfiguration {
        var configuration = ProxyConfiguration(
            name: proxy.name,
            listen: Endpoint(host: "127.0.0.1", port: 0, usesTLS: proxy.clientsUseTLS),
            upstream: upstream,
            profile: profile,
            seed: proxy.seed
        )
        limit(&configuration)
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
            throw CommandFailure(error)
        }
        // BoringSSL knows no constraints of addresses.
        let host = proxy.clientsUseTLS ? "localhost" : running.address.host
        let result = await execute(through: "\(Endpoint(host: host, port: running.address.port))")
        await running.stop()
        return try result.get()
    }

    /// Runs the command to its end, or stops it on timeout or cancellation.
    private func execute(through address: String) async -> Result<Bool, CommandFailure> {
        let child: ChildProcess
        do throws(SystemError) {
            child = try ChildProcess(
                command.map { $0.filled([("proxy", address)]) },
                environment: ProcessInfo.processInfo.environment.merging(trust) { $1 }
                    .merging(["SQUALL_PROXY": address]) { $1 },
                sharesDescriptors: true
            )
        } catch {
            let isBusy = [EAGAIN, ENOMEM].contains(error.code)
            let message = "can't run “\(command[0])”: \(error)"
            return .failure(isBusy ? .failed(message) : .wrongInput(message))
        }
        let patience = patience
        let watch = Task {
            guard (try? await Task.sleep(for: patience)) != nil else { return false }
            CommandRun.stop(child)
            return true
        }
        let end = await withTaskCancellationHandler {
            await child.end()
        } onCancel: {
            CommandRun.stop(child)
        }
        watch.cancel()
        let isLate = await watch.value
        return .success(isLate || end != .exit(0))
    }

    /// Stops the command's process group: SIGTERM, and SIGKILL 2 s later.
    private static func stop(_ child: ChildProcess) {
        child.signalGroup(SIGTERM)
        Task {
            try await Task.sleep(for: .seconds(2))
            child.signalGroup(SIGKILL)
        }
    }
}
