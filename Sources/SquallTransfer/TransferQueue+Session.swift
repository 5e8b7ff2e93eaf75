package import HTTPTransport
internal import TLSTransport
package import TransferProtocol
@_exported public import TransferQueue

extension TransferQueue {
    /// Opens the queue of an identifier in this process, and goes on with its jobs.
    ///
    /// - Parameters:
    ///   - identifier: 1 to 64 letters, digits, dots, dashes and underscores, not beginning with a dot.
    ///   - configuration: The configuration.
    ///   - tls: Trusted authorities and the client certificate.
    ///   - proxies: The proxies.
    /// - Throws: A `TransferQueueError`; with the code `.locked` if another process has the queue, or another
    ///   `TransferQueue` of this one that isn't closed.
    public convenience init(
        identifier: String,
        configuration: TransferQueueConfiguration = TransferQueueConfiguration(),
        tls: TransferTLS = TransferTLS(),
        proxies: TransferProxies = .none
    ) async throws {
        try await self.init(
            identifier: identifier,
            configuration: configuration,
            tls: TLSClient(tls.settings),
            proxies: proxies.settings
        )
    }

    /// Adds a transfer that isn't started, or was paused. A paused download goes on; a paused upload starts over, as the queue
    /// has a folder of its own for unfinished ones.
    ///
    /// - Parameters:
    ///   - job: The transfer of a file.
    ///   - adjust: Sets what a job lacks: headers, priority, window and other conditions.
    /// - Returns: the job's identifier in the queue.
    /// - Throws: A `TransferQueueError`.
    public func submit(
        _ job: TransferJob,
        adjust: (inout QueuedTransfer) -> Void = { _ in }
    ) async throws -> QueueJobID {
        if job.storesCoded == true {
            throw TransferQueueError(.invalid, "a queue stores no content in a coding: leave storesCoded out")
        }
        var transfer = QueuedTransfer(job.direction, url: job.url, file: job.file)
        transfer.method = job.method
        transfer.contentType = job.contentType
        transfer.isRepeatable = job.isRepeatable ?? false
        transfer.sha256 = job.sha256
        transfer.requiresProof = job.requiresProof ?? false
        transfer.allowsExpensive = job.allowsExpensive ?? true
        transfer.allowsConstrained = job.allowsConstrained ?? true
        adjust(&transfer)
        return try await submit(transfer)
    }
}

/// The reader of `.netrc`, for programs above this module.
package typealias Netrc = TransferProtocol.Netrc

extension TransferTLS {
    /// The client side of TLS, for a queue.
    package var client: any ClientTLS { TLSClient(settings) }
}
