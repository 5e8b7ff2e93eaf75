import DurableFiles
import NIOCore
import NIOPosix
import ResumableUploads
import SystemPackage

/// The upload service of a server, with its URLs.
struct UploadEndpoint: Sendable {
    let service: UploadService
    let paths: UploadPaths

    /// Opens the upload folder, if configured, and recovers the uploads of an earlier run.
    static func open(_ configuration: OriginConfiguration) async throws(OriginError) -> UploadEndpoint? {
        guard let uploads = configuration.uploads else { return nil }
        let opened: Result<UploadEndpoint, OriginError>? = try? await NIOThreadPool.singleton.runIfActive {
            Result { () throws(OriginError) in try open(uploads, configuration) }
        }
        guard let opened else { preconditionFailure("The pool is active until it is shut down") }
        return try opened.get()
    }

    private static func open(
        _ uploads: OriginConfiguration.Uploads,
        _ configuration: OriginConfiguration
    ) throws(OriginError) -> UploadEndpoint {
        let paths = try UploadPaths(served: configuration.folder, uploads: uploads.folder)
        do {
            let service = try UploadService(
                folder: FilePath(uploads.folder),
                policy: uploads.policy,
                entityTag: { path in
                    (try? path.stat(followTargetSymlink: false)).map { FileMetadata.entityTag(of: $0) }
                },
                now: { [now = configuration.now] in
                    let elapsed = Duration.nanoseconds(Int64(NIODeadline.now().uptimeNanoseconds))
                    return UploadInstant(elapsed: elapsed, wall: now().secondsSinceEpoch)
                },
                location: { UploadPaths.uploadPath + $0.description }
            )
            return UploadEndpoint(service: service, paths: paths)
        } catch {
            let code: OriginError.Code = error.errno == .wouldBlock ? .uploadsFolderInUse : .uploadsFolderUnusable
            let cause = OriginError.Cause(call: error.call, errno: error.errno)
            throw OriginError(code: code, subject: uploads.folder, cause: cause)
        }
    }
}
