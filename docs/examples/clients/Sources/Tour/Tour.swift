import FoundationEssentials
import Logging
import SquallTransfer

/// The server's reply to an upload.
private struct Reply: Decodable { let bytes: Int }

/// Uploads, asks a thousand times over one connection, gives a download up, and retries another. Returns the JSON's number.
public func tour(_ server: URL, folder: String, logger: Logger) async throws -> Int {
    var configuration = TransferConfiguration()
    configuration.stateFolder = folder + "/state"
    configuration.logger = logger
    // Lost connections and 503 are worth another attempt, within the limits; other statuses aren't.
    configuration.shouldRetry = { failure in failure.status == nil || failure.status == 503 }
    let session = TransferSession(configuration: configuration)

    var photo = TransferRequest(server.appending(path: "photos"))
    photo.method = .post
    photo.contentType = "image/jpeg"
    let uploaded = try await session.upload(for: photo, from: [UInt8](repeating: 7, count: 100_000)).value
    let reply = try JSONDecoder().decode(Reply.self, from: Data(uploaded.response?.body ?? []))

    let ping = TransferRequest(server.appending(path: "ping"))
    for _ in 0..<1_000 {
        let (data, response) = try await session.data(for: ping)
        precondition(response.status == 200 && data == Array("pong".utf8))
    }

    let large = session.download(for: TransferRequest(server.appending(path: "large")), to: folder + "/large")
    for try await status in large where status.completedBytes > 0 { break }
    // Cancels it, and removes its partial file.
    try await large.discard()

    let flaky = TransferRequest(server.appending(path: "flaky"))
    let result = try await session.download(for: flaky, to: folder + "/flaky").value
    logger.info("done", metadata: ["type": "\(result.headers[.contentType] ?? "none")"])
    return reply.bytes
}
