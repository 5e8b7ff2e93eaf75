import HTTPSemantics
import TransferProtocol

/// Identifies one request, from its head to its response; unique within a server.
package struct UploadRequestID: Hashable, Sendable {
    let number: UInt64

    /// Makes the ID of a request.
    package init(_ number: UInt64) { self.number = number }
}

/// A store command for one upload. At most one per upload is in progress.
package enum UploadStoreCommand: Hashable, Sendable {
    /// Create the upload, empty. Once it succeeds, a durable one is recovered after a crash.
    case create(UploadRecord, isDurable: Bool)
    /// Write bytes at the end, which is at `offset`.
    case append([UInt8], offset: Int64)
    /// Sync everything written and log the length, which may then be acknowledged.
    case checkpoint(length: Int64?)
    /// Move the file to its destination if it has this digest; `nil` uses the record's digest, if any.
    case finish(digest: ReprDigest?)
    /// Return to the last checkpoint after a failure.
    case restore
    /// Close the files until the next command.
    case release
    /// Remove the upload.
    case remove
}

/// The result of a store command.
package enum UploadStoreResult: Hashable, Sendable {
    /// The command succeeded.
    case done
    /// The file is at its destination, or was rejected permanently; the outcome is durable.
    case finished(UploadOutcome)
    /// The upload's handler responded.
    case responded(UploadResponse)
    /// The upload is back at its last checkpoint.
    case restored(length: Int64)
    /// The command failed; it can be retried after `restore`.
    case failed(UploadStoreFailure)
}

/// Why a store command failed.
package enum UploadStoreFailure: Hashable, Sendable {
    /// The disk is full.
    case noSpace
    /// The disk failed.
    case disk
    /// Acknowledged bytes are missing.
    case lost
    /// The destination isn't a regular file.
    case notReplaceable
    /// A precondition of the request doesn't hold (RFC 9110, section 13).
    case preconditionFailed
}

/// An action of the executor.
package enum UploadServerAction: Hashable, Sendable {
    /// Send an interim response.
    case interim(UploadRequestID, UploadResponse)
    /// Deliver the next content of the request, or its end.
    case receive(UploadRequestID)
    /// Send the final response.
    case respond(UploadRequestID, UploadResponse)
    /// Close the connection: a newer request supersedes this one.
    case close(UploadRequestID)
    /// Execute a store command.
    case store(UploadToken, UploadStoreCommand)
}

/// How an upload ended. Kept for a client that lost the response.
enum UploadEnd: Hashable {
    /// The store moved the file to its destination, or rejected it.
    case file(UploadOutcome)
    /// The handler responded after `length` bytes; `isEarly` if more content was expected.
    case response(UploadResponse, length: Int64, isEarly: Bool)

    /// Whether the target has accepted the upload.
    var isSuccess: Bool {
        switch self {
        case .file(let outcome): outcome.isSuccess
        case .response(let response, _, _): response.status < 400
        }
    }

    /// The size of the upload.
    var length: Int64 {
        switch self {
        case .file(let outcome): outcome.length
        case .response(_, let length, _): length
        }
    }
}
