import Foundation
import Hummingbird
import HummingbirdResumableUploads
import ResumableUploads

/// A server that takes photos by PUT. An upload that is cut goes on where it was: the route sees one request.
///
/// - Parameters:
///   - folder: Where photos are put; it exists.
///   - port: The port on 127.0.0.1, 0 for a free one.
///   - onRunning: Told the port.
public func photos(
    in folder: URL,
    port: Int = 8080,
    onRunning: @escaping @Sendable (Int) async -> Void = { _ in }
) -> some ApplicationProtocol {
    let router = Router()
    router.get("/photos/:name") { _, context in
        let data = try Data(contentsOf: folder.appending(path: context.parameters.require("name")))
        return ByteBuffer(bytes: data)
    }
    router.put("/photos/:name") { request, context in
        let file = folder.appending(path: try context.parameters.require("name"))
        guard FileManager.default.createFile(atPath: file.path(), contents: nil) else { throw HTTPError(.forbidden) }
        let handle = try FileHandle(forWritingTo: file)
        defer { try? handle.close() }
        for try await piece in request.body { try handle.write(contentsOf: piece.readableBytesView) }
        return Response(status: .created, headers: [.location: request.uri.path])
    }
    let responder = router.buildResponder()
    return Application(
        responder: responder,
        server: .http1(resumableUploads: ResumableUploadServer(responder: responder)),
        configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: port)),
        onServerRunning: { await onRunning($0.localAddress?.port ?? 0) }
    )
}
