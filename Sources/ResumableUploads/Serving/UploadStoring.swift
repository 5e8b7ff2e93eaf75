import DurableFiles
import NIOPosix

/// Where the uploads of a service go.
protocol UploadStoring: Sendable {
    /// Carries out a command for an upload; `done` gets the result, never before this returns. At most one command at a time
    /// is under way for each upload.
    func perform(
        _ command: UploadStoreCommand,
        for token: UploadToken,
        then done: @escaping @Sendable (UploadStoreResult) -> Void
    )
    /// The upload is removed next: the command under way is to end soon, with any result.
    func abandon(_ token: UploadToken)
    /// The request with this token creates no upload.
    func forget(_ token: UploadToken)
    /// Finishes what is under way, and closes everything. To be called once, as the last.
    func shutDown() async
}

/// A store in a folder, at work on threads of its own.
struct FolderOfUploads: UploadStoring {
    private let store: UploadStore
    private let threads: NIOThreadPool

    init(_ store: UploadStore, threadCount: Int) {
        self.store = store
        threads = NIOThreadPool(numberOfThreads: threadCount)
        threads.start()
    }

    func perform(
        _ command: UploadStoreCommand,
        for token: UploadToken,
        then done: @escaping @Sendable (UploadStoreResult) -> Void
    ) {
        threads.submit { [store] threadState in
            guard case .active = threadState else { return }
            done(store.perform(command, for: token))
        }
    }

    /// Does nothing: every command ends by itself.
    func abandon(_ token: UploadToken) {}

    func forget(_ token: UploadToken) {}

    func shutDown() async {
        // It throws only when it is called twice.
        try? await threads.shutdownGracefully()
        store.close()
    }
}
