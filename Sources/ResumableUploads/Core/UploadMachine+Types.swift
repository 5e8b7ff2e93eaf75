import HTTPSemantics
import TransferProtocol

/// One request, from its head to its response; unique in a server.
public struct UploadRequestID: Hashable, Sendable {
    let number: UInt64

    /// Makes the ID of a request.
    public init(_ number: UInt64) { self.number = number }
}

/// A command to the store about one upload. There is at most one at a time for each.
public enum UploadStoreCommand: Hashable, Sendable {
    /// Make the upload, empty. Once it is done, a durable one is found again after a crash.
    case create(UploadRecord, isDurable: Bool)
    /// Write bytes at the end, which is at `offset`.
    case append([UInt8], offset: Int64)
    /// Bring all that was written to the disk, and note the length. From then on it may be promised.
    case checkpoint(length: Int64?)
    /// Put the file in its place, if it has this digest; with `nil` the one of the record, if there is one.
    case finish(digest: ReprDigest?)
    /// Go back to the last checkpoint after a failure.
    case restore
    /// Close the files until the next command.
    case release
    /// Remove everything.
    case remove
}

/// The result of a command to the store.
public enum UploadStoreResult: Hashable, Sendable {
    /// The command was carried out.
    case done
    /// The file is in its place, or was refused for good; the outcome is on the disk.
    case finished(UploadOutcome)
    /// Whoever takes the uploads has answered this one.
    case answered(UploadResponse)
    /// The upload is back at its last checkpoint.
    case restored(length: Int64)
    /// It failed; after `restore` it can be tried again.
    case failed(UploadStoreFailure)
}

/// Why a command to the store failed.
public enum UploadStoreFailure: Hashable, Sendable {
    /// The disk is full.
    case noSpace
    /// The disk failed.
    case disk
    /// What was promised isn't there any more.
    case lost
    /// Something that isn't a file has the name of the target.
    case notReplaceable
    /// The target exists, and the request demanded that it doesn't.
    case exists
}

/// An action that follows from an event.
public enum UploadServerAction: Hashable, Sendable {
    /// Send an informational response.
    case inform(UploadRequestID, UploadResponse)
    /// Hand over the next content of the request, or its end.
    case receive(UploadRequestID)
    /// Send the final response.
    case respond(UploadRequestID, UploadResponse)
    /// Close the connection: a newer request has taken the place of this one.
    case close(UploadRequestID)
    /// Have the store carry out a command.
    case store(UploadToken, UploadStoreCommand)
}

/// How an upload ended. It is kept, for a client that lost the answer.
enum UploadEnd: Hashable {
    /// The store has put a file in its place, or refused it.
    case file(UploadOutcome)
    /// Whoever takes the uploads has answered, after `length` bytes. `isEarly` when there was more to come.
    case answer(UploadResponse, length: Int64, isEarly: Bool)

    /// The bytes of the upload.
    var length: Int64 {
        switch self {
        case .file(let outcome): outcome.length
        case .answer(_, let length, _): length
        }
    }
}
