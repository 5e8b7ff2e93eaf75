import DurableFiles
import HTTPTypes
import NIOCore
import NIOPosix

/// The storage backend of an upload service.
protocol UploadBackend: Sendable {
    /// Executes a command for an upload; `done` receives the result, never before this returns. At most one command per
    /// upload is in progress.
    func perform(
        _ command: UploadStoreCommand,
        for token: UploadToken,
        then done: @escaping @Sendable (UploadStoreResult) -> Void
    )
    /// A request that may create an upload arrived on `channel`.
    func prepare(_ token: UploadToken, _ head: HTTPRequest, _ channel: any Channel)

    /// Calls `body` when content of an upload is read: at once, where it always is.
    func whenRead(_ token: UploadToken, _ body: @escaping @Sendable () -> Void)

    /// The upload will be removed: its current command should end soon, with any result.
    func abandon(_ token: UploadToken)
    /// The request with this token created no upload.
    func forget(_ token: UploadToken)
    /// Finishes current commands and closes everything. Called once, last.
    func shutDown() async
}

/// A store in a folder, on its own thread pool.
struct FolderUploadBackend: UploadBackend {
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

    func prepare(_ token: UploadToken, _ head: HTTPRequest, _ channel: any Channel) {}

    func whenRead(_ token: UploadToken, _ body: @escaping @Sendable () -> Void) { body() }

    /// Does nothing: file system commands end by themselves.
    func abandon(_ token: UploadToken) {}

    func forget(_ token: UploadToken) {}

    func shutDown() async {
        // Throws only when called twice.
        try? await threads.shutdownGracefully()
        store.close()
    }
}
