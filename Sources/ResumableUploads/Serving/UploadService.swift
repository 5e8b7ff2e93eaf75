import DurableFiles
import NIOCore
import NIOPosix
import Synchronization
import SystemPackage

/// Carries out what an `UploadCore` says: commands of the store on threads of their own, the rest on the connections.
///
/// All functions may be called on any thread. The actions for one request are handed out in their order.
public final class UploadService: Sendable {
    /// Takes an action for a request; called with a lock held, so it must do no more than pass the action on.
    public typealias Connection = @Sendable (UploadServerAction) -> Void

    private struct State {
        var core: UploadCore
        var connections: [UploadRequestID: Connection] = [:]
        var lastRequest: UInt64 = 0
        var random = SystemRandomNumberGenerator()
    }

    private let state: Mutex<State>
    private let store: any UploadStoring
    private let now: @Sendable () -> UploadInstant
    private let sweep: RepeatedTask

    /// The time between two looks at uploads that may have expired.
    private static let sweepInterval = TimeAmount.seconds(10)

    /// Starts the service over a folder for uploads: finds what an earlier run left. Blocks.
    ///
    /// - Parameters:
    ///   - folder: The folder that complete files are put into; it exists.
    ///   - policy: The limits.
    ///   - files: The calls to the file system.
    ///   - threadCount: The threads that make these calls.
    ///   - now: Both clocks.
    ///   - location: The path of an upload's URI.
    /// - Throws: a `wouldBlock` where another server has the folder, and the errors of the file system.
    public convenience init(
        folder: FilePath,
        policy: UploadPolicy,
        files: any FileSystem = SystemFiles(),
        threadCount: Int = 4,
        now: @escaping @Sendable () -> UploadInstant,
        location: @escaping @Sendable (UploadToken) -> String
    ) throws(FileError) {
        let store = try UploadStore(folder: folder, in: files)
        let found: [UploadFound]
        do throws(FileError) {
            found = try store.recover()
        } catch {
            store.close()
            throw error
        }
        self.init(
            storing: FolderOfUploads(store, threadCount: threadCount),
            found: found,
            policy: policy,
            now: now,
            location: location
        )
    }

    /// Starts the service over a store that has found these uploads.
    init(
        storing store: any UploadStoring,
        found: [UploadFound],
        policy: UploadPolicy,
        now: @escaping @Sendable () -> UploadInstant,
        location: @escaping @Sendable (UploadToken) -> String
    ) {
        self.store = store
        self.now = now
        state = Mutex(State(core: UploadCore(policy: policy, found: found, now: now(), location: location)))
        let weak = Weak()
        sweep = MultiThreadedEventLoopGroup.singleton.any().scheduleRepeatedTask(
            initialDelay: Self.sweepInterval,
            delay: Self.sweepInterval
        ) { _ in weak.service?.handle(.tick) }
        weak.service = self
    }

    /// A reference for the timer, which must not keep the service.
    private final class Weak: Sendable {
        private let reference = Mutex(Reference())

        private struct Reference {
            weak var service: UploadService?
        }

        var service: UploadService? {
            get { reference.withLock { $0.service } }
            set { reference.withLock { $0.service = newValue } }
        }
    }

    /// The number of uploads that are kept.
    public var count: Int { state.withLock { $0.core.count } }

    /// Takes a request, and gives its ID; `connection` gets what follows from it, perhaps before this returns.
    public func begin(_ request: UploadRequest, _ connection: @escaping Connection) -> UploadRequestID {
        begin(request, preparing: { _ in }, connection)
    }

    /// As `begin(_:_:)`; calls `preparing` with the token first.
    func begin(
        _ request: UploadRequest,
        preparing: (UploadToken) -> Void,
        _ connection: @escaping Connection
    ) -> UploadRequestID {
        let now = now()
        return state.withLock { state in
            state.lastRequest += 1
            let id = UploadRequestID(state.lastRequest)
            state.connections[id] = connection
            let token = UploadToken(using: &state.random)
            preparing(token)
            perform(state.core.handle(.request(id, request, token: token), at: now), &state)
            if !state.core.keeps(token) { store.forget(token) }
            return id
        }
    }

    /// Takes an event.
    public func handle(_ event: UploadCore.Event) {
        let now = now()
        state.withLock { state in
            if case .broke(let id) = event { state.connections[id] = nil }
            perform(state.core.handle(event, at: now), &state)
        }
    }

    /// Stops: what the store is doing is finished, and nothing is done afterwards. To be called once, as the last.
    public func shutDown() async {
        sweep.cancel()
        await store.shutDown()
    }

    private func perform(_ actions: [UploadServerAction], _ state: inout State) {
        defer { for token in state.core.abandoned { store.abandon(token) } }
        for action in actions {
            switch action {
            case .inform(let id, _), .receive(let id): state.connections[id]?(action)
            case .respond(let id, _), .close(let id): state.connections.removeValue(forKey: id)?(action)
            case .store(let token, let command):
                store.perform(command, for: token) { [weak self] in self?.handle(.stored(token, $0)) }
            }
        }
    }
}
