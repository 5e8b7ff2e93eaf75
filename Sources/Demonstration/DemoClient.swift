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
    func perform(_ transfer: DemoTransfer, at address: String) async -> Result<DemoResult, DemoFailure> {
        let url = "http://\(address)/\(DemoFiles.name)"
        switch transfer {
        case .download: return await download(url)
        case .upload: return await upload(url)
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

    private func download(_ url: String) async -> Result<DemoResult, DemoFailure> {
        do throws(TransferError) {
            let request = DownloadRequest(url: url)
            let summary = try await client.download(request, to: FilePath(files.received)) { event in
                progress.note(event)
                story.record(event)
                guard format == .json else { return }
                var report = TransferEventJSON(event)
                report.transfer = DemoTransfer.download.rawValue
                EventFormat.writeJSON(report)
            }
            return .success(DemoResult(summary))
        } catch {
            return .failure(DemoFailure(error))
        }
    }

    private func upload(_ url: String) async -> Result<DemoResult, DemoFailure> {
        var request = UploadRequest(url: url, journalFolder: FilePath(files.state))
        // So that the time shown is the network's, without hashing the file before the first byte.
        request.sha256 = files.sent.digest
        do throws(TransferError) {
            let content = try await client.content(of: FilePath(files.sent.path))
            let summary = try await client.upload(content, request) { event in
                progress.note(event)
                story.record(event)
                guard format == .json else { return }
                var report = TransferEventJSON(event)
                report.transfer = DemoTransfer.upload.rawValue
                EventFormat.writeJSON(report)
            }
            return .success(DemoResult(summary))
        } catch {
            return .failure(DemoFailure(error))
        }
    }
}
