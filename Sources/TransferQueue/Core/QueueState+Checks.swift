internal import TransferProtocol

extension QueuedTransfer {
    /// Throws when a value is outside its range. URL, headers and files are checked elsewhere.
    package func checkRanges() throws(QueueProblem) {
        guard file.hasPrefix("/"), file.utf8.count < 4_096, !file.utf8.contains(0) else {
            throw .invalid("file", "it is an absolute path of less than 4096 bytes")
        }
        guard (-100...100).contains(priority) else { throw .invalid("priority", "it is from -100 to 100") }
        guard timeLimit > .zero, requestTimeLimit > .zero else { throw .invalid("time limit", "it is above zero") }
        if let sha256, sha256.count != 32 { throw .invalid("sha256", "a SHA-256 has 32 bytes") }
        if let maximumRate, maximumRate < 1 { throw .invalid("rate", "it is at least 1 byte a second") }
        if let maximumFailures, maximumFailures < 1 { throw .invalid("failures", "it is at least 1") }
        guard command.count <= QueueLimits.maximumCommandWords, command.first != "" else {
            throw .invalid("command", "it is a program with at most \(QueueLimits.maximumCommandWords - 1) arguments")
        }
        guard command.allSatisfy({ !$0.utf8.contains(0) }) else { throw .invalid("command", "it has a zero byte") }
    }
}

extension QueueState {
    /// The jobs of an origin that wait after a failed attempt, to be tried now that a route leads to it again.
    package func reached(_ origin: String) -> [QueueJob] {
        jobs.values.filter { $0.origin == origin }.sorted { $0.id < $1.id }.compactMap { job in
            guard case .retrying(let reason, _, _) = job.stage, [.retry, .tls].contains(reason) else { return nil }
            var job = job
            job.stage = .active
            return job
        }
    }

    /// The jobs that have ended, and whose commands have; with those whose events weren't delivered, or without.
    package func done(undelivered: Bool) -> [QueueJob] {
        jobs.values.filter { $0.isDone || undelivered && $0.phase.isFinal && $0.commandOwed == nil }
    }

    /// The unfinished jobs, in their order, that may go on with what a run of a transfer has left: the partial file of
    /// a download, or the part of an upload at its server, if the file is the same.
    package func heirs(of transfer: QueuedTransfer) -> [QueueJob] {
        let url = try? TransferURL(transfer.url)
        return jobs.values.filter { job in
            let other = job.transfer
            guard !job.phase.isFinal, other.direction == transfer.direction else { return false }
            switch other.direction {
            case .download: return other.file == transfer.file
            case .upload:
                return job.host == url?.host && other.uploadMethod == transfer.uploadMethod
                    && (other.url == transfer.url || (try? TransferURL(other.url)) == url)
            }
        }.sorted { $0.id < $1.id }
    }

    /// The job, which when it is cancelled removes what the runs of another have left; `nil` if it has ended.
    package func takingOver(_ id: QueueJobID) -> QueueJob? {
        guard var job = jobs[id], !job.phase.isFinal else { return nil }
        job.hasStarted = true
        return job
    }

    /// The cancelled downloads whose partial files may still be there, unless another job has the file by now.
    package var undiscarded: [QueueJob] {
        let files = Set(jobs.values.filter { !$0.phase.isFinal }.map(\.transfer.file))
        return jobs.values.filter { job in
            job.stage == .cancelled && job.hasStarted && job.transfer.direction == .download
                && !files.contains(job.transfer.file)
        }
    }
}
