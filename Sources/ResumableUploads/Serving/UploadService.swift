import DurableFiles
import HTTPSemantics
import HTTPTypes
import NIOCore
import NIOPosix
import Synchronization
import SystemPackage

/// Executes the actions of an `UploadRegistry`: store commands on a thread pool, the rest on the connections.
///
/// Thread-safe. The actions of one request are delivered in order.
package final class UploadService: Sendable {
    /// Receives an action for a request. Called with a lock held, so it must only forward the action.
    package typealias Connection = @Sendable (UploadServerAction) -> Void

    private struct State {
        var registry: UploadRegistry
        var connections: [UploadRequestID: Connection] = [:]
        var lastRequest: UInt64 = 0
        var random = SystemRandomNumberGenerator()
    }

    private let state: Mutex<State>
    private let store: any UploadBackend
    private let now: @Sendable () -> UploadInstant
    private let sweep = Mutex<RepeatedTask?>(nil)

    /// The interval between checks for expired uploads.
    private static let sweepInterval = TimeAmount.seconds(10)

    /// Starts the service on a folder and recovers the uploads of an earlier run. Blocks.
    ///
    /// - Parameters:
    ///   - folder: The existing folder for complete files.
    ///   - policy: The limits.
    ///   - files: The file system.
    ///   - threadCount: The number of threads for file system calls.
    ///   - entityTag: The current entity tag of a complete file, for `If-Match`; `nil` without a file.
    ///   - now: Both clocks.
    ///   - location: The path of an upload's URL.
    /// - Throws: `wouldBlock` when another server has the folder, and errors of the file system.
    package convenience init(
        folder: FilePath,
        policy: UploadPolicy,
        files: any FileSystem = SystemFiles(),
        threadCount: Int = 4,
        entityTag: @escaping @Sendable (FilePath) -> EntityTag? = { _ in nil },
        now: @escaping @Sendable () -> UploadInstant,
        location: @escaping @Sendable (UploadToken) -> String
    ) throws(FileError) {
        let store = try UploadStore(folder: folder, in: files, entityTag: entityTag)
        let recovered: [RecoveredUpload]
        do throws(FileError) {
            recovered = try store.recover()
        } catch {
            store.close()
            throw error
        }
        self.init(
            storing: FolderUploadBackend(store, threadCount: threadCount),
            recovered: recovered,
            policy: policy,
            now: now,
            location: location
        )
    }

    /// Starts the service on a store with these recovered uploads.
    init(
        storing store: any UploadBackend,
        recovered: [RecoveredUpload],
        policy: UploadPolicy,
        now: @escaping @Sendable () -> UploadInstant,
        location: @escaping @Sendable (UploadToken) -> String
    ) {
        self.store = store
        self.now = now
        state = Mutex(
            State(registry: UploadRegistry(policy: policy, recovered: recovered, now: now(), location: location))
        )
        let task = MultiThreadedEventLoopGroup.singleton.any().scheduleRepeatedTask(
            initialDelay: Self.sweepInterval,
            delay: Self.sweepInterval
        ) { [weak self] _ in self?.handle(.tick) }
        sweep.withLock { $0 = task }
    }

    /// The number of uploads.
    package var count: Int { state.withLock { $0.registry.count } }

    /// Starts a request, whose head arrived on `channel`, and returns its ID; `connection` receives its actions, possibly
    /// before this returns.
    func begin(
        _ request: UploadRequestHead,
        _ head: HTTPRequest,
        _ channel: any Channel,
        _ connection: @escaping Connection
    ) -> UploadRequestID {
        let now = now()
        return state.withLock { state in
            state.lastRequest += 1
            let id = UploadRequestID(state.lastRequest)
            state.connections[id] = connection
            let token = UploadToken(using: &state.random)
            store.prepare(token, head, channel)
            perform(state.registry.handle(.request(id, request, token: token), at: now), &state)
            if !state.registry.keeps(token) { store.forget(token) }
            return id
        }
    }

    /// Calls `body` when content of a request is read.
    func whenRead(_ id: UploadRequestID, _ body: @escaping @Sendable () -> Void) {
        if let token = upload(of: id) { store.whenRead(token, body) }
    }

    /// The upload of a current request.
    func upload(of id: UploadRequestID) -> UploadToken? { state.withLock { $0.registry.upload(of: id) } }

    /// Handles an event.
    package func handle(_ event: UploadRegistry.Event) {
        let now = now()
        state.withLock { state in
            if case .disconnected(let id) = event { state.connections[id] = nil }
            perform(state.registry.handle(event, at: now), &state)
        }
    }

    /// Stops after the current store commands. Called once, last.
    package func shutDown() async {
        sweep.withLock { $0 }?.cancel()
        await store.shutDown()
    }

    private func perform(_ actions: [UploadServerAction], _ state: inout State) {
        defer { for token in state.registry.abandoned { store.abandon(token) } }
        for action in actions {
            switch action {
            case .interim(let id, _), .receive(let id): state.connections[id]?(action)
            case .respond(let id, _), .close(let id): state.connections.removeValue(forKey: id)?(action)
            case .store(let token, let command):
                store.perform(command, for: token) { [weak self] in self?.handle(.stored(token, $0)) }
            }
        }
    }
}
