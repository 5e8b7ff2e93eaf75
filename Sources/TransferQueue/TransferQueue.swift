package import DurableFiles
package import HTTPTransport
internal import OperatingSystem
internal import SystemPackage
package import TransferProtocol

/// Transfers that outlive the program that asked for them.
///
/// ```swift
/// let queue = try await TransferQueue(identifier: "photos")
/// let job = try await queue.submit(.download("https://example.com/image.iso", to: "/home/me/image.iso"))
/// for try await status in queue.updates() { show(status.id, status.phase, status.completedBytes) }
/// ```
///
/// Jobs are in a log. A queue that is opened again, after its process was killed or the machine restarted, goes on with
/// them. It tries again at growing intervals for as long as a job may take, resumes where it can, and waits for a network.
/// One process at a time has the queue of an identifier.
public final class TransferQueue: Sendable {
    /// The identifier.
    public let identifier: String
    let host: QueueHost

    /// Opens the queue of an identifier, which has its earlier jobs, and starts those that may run.
    ///
    /// - Parameters:
    ///   - identifier: 1 to 64 letters, digits, dots, dashes and underscores, not beginning with a dot.
    ///   - configuration: The configuration.
    ///   - tls: The client side of TLS; without it `https` URLs are refused.
    ///   - proxies: The HTTP proxies.
    ///   - surroundings: The clock, network and power supply; `nil` for those of the machine.
    ///   - files: The file system of the log.
    /// - Throws: A `TransferQueueError`.
    package init(
        identifier: String,
        configuration: TransferQueueConfiguration,
        tls: (any ClientTLS)?,
        proxies: ProxySettings,
        surroundings: QueueSurroundings? = nil,
        files: any FileSystem = SystemFiles()
    ) async throws(TransferQueueError) {
        let folder = try Self.folder(identifier, configuration)
        let opened = await Task.detached {
            Result { () throws(TransferQueueError) in
                try TransferQueue.makeFolder(folder)
                do throws(QueueLog.Problem) {
                    return try QueueLog.open(in: FilePath(folder), limits: configuration.limits, files: files)
                } catch {
                    throw TransferQueueError(error, folder: folder)
                }
            }
        }.value
        let (log, state) = try opened.get()
        self.identifier = identifier
        let runner = QueueRunner(
            log,
            state,
            QueueTransfers(uploads: FilePath(folder).appending("uploads"), tls: tls, proxies: proxies),
            surroundings
                ?? .system(
                    expensive: configuration.expensiveInterfaces,
                    constrained: configuration.constrainedInterfaces
                ),
            seed: .random(in: .min ... .max),
            tell: configuration.log ?? { _ in }
        )
        host = .process(runner)
        // An earlier process may have ended between the record and the removal.
        for job in state.undiscarded { await runner.discard(job) }
        runner.post { [runner] in runner.replan(&$0) }
    }

    /// Opens the queue that a daemon of this user runs, `squall queue serve`. It goes on with the jobs when this program ends.
    ///
    /// Each call is a connection of its own to the daemon's socket. A call fails with the code `.daemon` when no daemon
    /// listens, and `updates()` and `events()` when it ends. The daemon has the configuration, and reads the files and variables of
    /// headers.
    ///
    /// - Parameters:
    ///   - identifier: The name of the daemon's queue, `--name`.
    ///   - folder: The folder of the queue; `nil`, the default, for the one of the configuration's default.
    /// - Throws: A `TransferQueueError`, with the code `.daemon` if no daemon listens.
    public init(daemon identifier: String, folder: String? = nil) async throws {
        var configuration = TransferQueueConfiguration()
        configuration.folder = folder
        let socket = try QueueSocket(folder: Self.folder(identifier, configuration))
        try await socket.check()
        self.identifier = identifier
        host = .daemon(socket)
    }

    /// The folder of a queue.
    package static func folder(
        _ identifier: String,
        _ configuration: TransferQueueConfiguration
    ) throws(TransferQueueError) -> String {
        let isPlain = identifier.utf8.allSatisfy { byte in
            (48...57).contains(byte) || (65...90).contains(byte) || (97...122).contains(byte)
                || [45, 46, 95].contains(byte)
        }
        guard isPlain, (1...64).contains(identifier.utf8.count), !identifier.hasPrefix(".") else {
            throw TransferQueueError(
                .invalid,
                "an identifier has 1 to 64 letters, digits, dots, dashes and underscores, and begins with no dot"
            )
        }
        if let folder = configuration.folder {
            guard folder.hasPrefix("/") else { throw TransferQueueError(.invalid, "the folder is an absolute path") }
            return folder
        }
        guard let state = UserFolders.state else {
            let problem = "there is no home for the queue: name a folder, or set HOME or XDG_STATE_HOME"
            throw TransferQueueError(.invalid, problem)
        }
        return "\(state)/squall/queues/\(identifier)"
    }

    // MARK: Jobs

    /// Adds a transfer. It is in the log when the call returns.
    ///
    /// - Parameters:
    ///   - transfer: The transfer.
    ///   - secrets: The values of headers that are kept in memory, by their names in any case.
    /// - Returns: the job's identifier, by which another process finds it.
    /// - Throws: A `TransferQueueError`.
    public func submit(_ transfer: QueuedTransfer, secrets: [String: String] = [:]) async throws -> QueueJobID {
        let host = try Self.checked(transfer)
        let secrets = try Self.lowercased(secrets, for: transfer.headers)
        let runner: QueueRunner
        switch self.host {
        case .process(let own): runner = own
        case .daemon(let daemon): return try await daemon.submit(transfer, secrets)
        }
        let now = runner.surroundings.now()
        return try await runner.perform { [runner] (work) throws(TransferQueueError) in
            let job = try runner.decide(&work) { (state) throws(QueueProblem) in
                try state.submitted(transfer, host: host, at: now).fitting()
            }
            work.secrets[job.id] = secrets
            runner.replan(&work)
            return job.id
        }
    }

    /// Stops a job until it is resumed. Everything that it transferred is on the disk when the call returns.
    ///
    /// - Throws: A `TransferQueueError`.
    public func pause(_ id: QueueJobID) async throws {
        switch host {
        case .daemon(let daemon): try await daemon.values(of: .pause(id))
        case .process(let runner):
            _ = try await runner.change { (state) throws(QueueProblem) in try state.paused(id) }
            await runner.ended(id)
        }
    }

    /// Tries a job again now, also one that has failed, with a new time limit.
    ///
    /// - Parameters:
    ///   - id: The job.
    ///   - change: What the job is to have from now on, such as another URL.
    ///   - secrets: The values of headers that are kept in memory, by their names in any case.
    /// - Throws: A `TransferQueueError`.
    public func resume(
        _ id: QueueJobID,
        with change: QueueChange = QueueChange(),
        secrets: [String: String] = [:]
    ) async throws {
        let runner: QueueRunner
        switch host {
        case .process(let own): runner = own
        case .daemon(let daemon):
            try await daemon.values(of: .resume(id, change, secrets: Self.lowercased(secrets, for: change.headers)))
            return
        }
        guard let status = try await runner.status(id) else { throw TransferQueueError(.noJob(id)) }
        let leavesOrigin = Self.leavesOrigin(change, of: status.transfer)
        let transfer = change.applied(to: status.transfer, leavesOrigin: leavesOrigin)
        let host = try Self.checked(transfer)
        let now = runner.surroundings.now()
        let secrets = try Self.lowercased(secrets, for: change.headers)
        let before = try await runner.perform { [runner] (work) throws(TransferQueueError) in
            let before = (job: work.state.jobs[id], secrets: work.secrets[id] ?? [:], run: work.runs[id]?.task)
            _ = try runner.decide(&work) { (state) throws(QueueProblem) in
                try state.resumed(id, change, host: host, leavesOrigin: leavesOrigin, at: now).fitting()
            }
            if leavesOrigin { work.secrets[id] = [:] }
            work.secrets[id, default: [:]].merge(secrets) { $1 }
            // A run goes on with what it was started with, so it is started again.
            if change != QueueChange() || !secrets.isEmpty {
                work.runs[id]?.isOutdated = true
                runner.stop(id, &work)
            }
            runner.replan(&work)
            return before
        }
        guard let job = before.job, job.transfer.direction == .upload, job.hasStarted,
            (try? TransferURL(job.transfer.url)) != (try? TransferURL(transfer.url))
        else { return }
        // No later run finds what those at the old URL have left.
        await before.run?.value
        await runner.discard(job, secrets: before.secrets)
    }

    /// Ends a job for good. A download's partial file is removed, unless the job never ran. The server is asked once to
    /// remove the part of an upload.
    ///
    /// - Throws: A `TransferQueueError`.
    public func cancel(_ id: QueueJobID) async throws {
        switch host {
        case .daemon(let daemon): try await daemon.values(of: .cancel(id))
        case .process(let runner):
            let (job, secrets) = try await runner.perform { [runner] (work) throws(TransferQueueError) in
                // They go with the record.
                let secrets = work.secrets[id] ?? [:]
                let job = try runner.decide(&work) { (state) throws(QueueProblem) in try state.cancelled(id) }
                runner.replan(&work)
                return (job, secrets)
            }
            await runner.ended(id)
            await runner.discard(job, secrets: secrets)
        }
    }

    /// Changes the priority of a job, which counts when the next job starts.
    ///
    /// - Throws: A `TransferQueueError`.
    public func setPriority(_ priority: Int, of id: QueueJobID) async throws {
        guard (-100...100).contains(priority) else {
            throw TransferQueueError(.invalid("priority", "it is from -100 to 100"))
        }
        switch host {
        case .daemon(let daemon): try await daemon.values(of: .prioritize(id, priority))
        case .process(let runner):
            _ = try await runner.change { (state) throws(QueueProblem) in try state.prioritized(id, priority) }
        }
    }

    /// Forgets the jobs that are done and whose events were delivered.
    ///
    /// - Returns: their number.
    /// - Throws: A `TransferQueueError`.
    @discardableResult public func prune() async throws -> Int {
        try await prune(undelivered: false)
    }

    // MARK: Observing

    /// The status of a job; `nil` if the queue has no such job.
    ///
    /// - Throws: A `TransferQueueError`.
    public func status(of id: QueueJobID) async throws -> QueueJobStatus? {
        switch host {
        case .daemon(let daemon): try await daemon.status(of: id)
        case .process(let runner): try await runner.status(id)
        }
    }

    /// The status of all jobs, in the order in which they were submitted.
    ///
    /// - Throws: A `TransferQueueError`.
    public func statuses() async throws -> [QueueJobStatus] {
        switch host {
        case .daemon(let daemon): try await daemon.statuses(.status(nil))
        case .process(let runner): try await runner.statuses()
        }
    }

    /// The statuses of all jobs: first the current one of each, then each that changes. A slow reader gets the newest one
    /// of each job.
    public func updates() -> QueueUpdates { QueueUpdates(host: host) }

    /// The events of all jobs, first those that were kept. An event is delivered, and not kept any longer, when the next one
    /// is asked for.
    public func events() -> QueueEvents { QueueEvents(host: host) }

    /// Stops all transfers, and closes the queue when everything that they transferred is on the disk. They go on when it
    /// is opened again. Does nothing to the queue of a daemon.
    public func close() async {
        if case .process(let runner) = host { await runner.close() }
    }

    // MARK: Checks

    /// Whether a change gives a job a URL of another origin, for which its headers aren't.
    private static func leavesOrigin(_ change: QueueChange, of transfer: QueuedTransfer) -> Bool {
        guard let next = change.url.flatMap({ try? TransferURL($0) }), let last = try? TransferURL(transfer.url) else {
            return false
        }
        return !next.hasSameOrigin(as: last)
    }

    private static func checked(_ transfer: QueuedTransfer) throws(TransferQueueError) -> String {
        do throws(QueueProblem) {
            try transfer.checkRanges()
            try transfer.checkFile()
            for header in transfer.headers {
                try QueueSecrets.check(header, isForUpload: transfer.direction == .upload)
            }
        } catch {
            throw TransferQueueError(error)
        }
        do throws(TransferURLProblem) {
            return try TransferURL(transfer.url).host.lowercased()
        } catch {
            throw TransferQueueError(.invalid("url", "\(error)"))
        }
    }

    private static func lowercased(
        _ secrets: [String: String],
        for headers: [QueueHeader]
    ) throws(TransferQueueError) -> [String: String] {
        let named = headers.filter { $0.value == .memory }.map { $0.name.lowercased() }
        let lowered = Dictionary(secrets.map { ($0.key.lowercased(), $0.value) }) { $1 }
        guard lowered.keys.sorted() == named.sorted() else {
            throw TransferQueueError(
                .invalid("headers", "one in memory has one value, and isn't repeated: name files that have others")
            )
        }
        do throws(QueueProblem) {
            for (name, value) in lowered { try QueueSecrets.check(value, of: name) }
        } catch {
            throw TransferQueueError(error)
        }
        return lowered
    }
}

extension QueueJob {
    /// The job, whose record must not be too large for the log.
    fileprivate func fitting() throws(QueueProblem) -> QueueJob {
        guard QueueLog.bytes(of: .job(self)).count <= QueueLimits.maximumJobSize else { throw .tooLarge }
        return self
    }
}
