import CommandParsing
import SystemPackage
import TransferClient
import TransferReports
import Units

/// The client of a demo: runs a transfer through the proxy and reports it.
struct DemoClient {
    let files: DemoFiles
    let format: EventFormat
    let seed: UInt64
    let story: DemoStory
    let progress: TransferProgress
    /// Whether the client never gives up, and waits for 2 s at most: somebody takes the network away by hand.
    var isPatient = false
    /// The rate to which the client limits itself, if any.
    var pace: BitRate?

    /// Runs `transfer` with the server at `address`.
    func perform(_ transfer: DemoTransfer, at address: String) async -> Result<TransferSummary, TransferError> {
        let url = "http://\(address)/\(DemoFiles.name)"
        let client = client
        do throws(TransferError) {
            switch transfer {
            case .download:
                let request = DownloadRequest(url: url)
                return .success(
                    try await client.download(request, to: FilePath(files.received)) { note($0, of: transfer) }
                )
            case .upload:
                var request = UploadRequest(url: url, journalFolder: FilePath(files.state))
                // So that the time shown is the network's, without hashing the file before the first byte.
                request.sha256 = files.sent.digest
                let content = try await client.content(of: FilePath(files.sent.path))
                return .success(try await client.upload(content, request) { note($0, of: transfer) })
            }
        } catch {
            return .failure(error)
        }
    }

    private var client: TransferEngine {
        var configuration = TransferClientConfiguration()
        configuration.seed = seed
        configuration.maximumRate = pace
        if isPatient {
            configuration.retry.maximumAttempts = .max
            configuration.retry.maximumDelay = .seconds(2)
        }
        return TransferEngine(configuration: configuration)
    }

    private func note(_ event: TransferEvent, of transfer: DemoTransfer) {
        progress.note(event)
        story.record(event)
        guard format == .json else { return }
        var report = TransferEventJSON(event)
        report.transfer = transfer.rawValue
        EventFormat.writeJSON(report)
    }
}
