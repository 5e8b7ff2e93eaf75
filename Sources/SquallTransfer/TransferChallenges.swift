internal import Synchronization
internal import TransferClient
internal import TransferProtocol

/// A 401 from the origin of the request's URL (RFC 9110, section 11.6.1).
public struct TransferChallenge: Hashable, Sendable {
    /// The URL that returned 401.
    public var url: String
    /// The names of the offered schemes, such as `Bearer`: at most 4.
    public var schemes: [String]
    /// The first realm.
    public var realm: String?
    /// Whether the request carried credentials, which were then wrong or expired.
    public var wereCredentialsSent: Bool
    /// The number of preceding refusals in a row: 0 to 2.
    public var previousRefusals: Int

    /// Makes a challenge, for tests.
    public init(
        url: String,
        schemes: [String] = [],
        realm: String? = nil,
        wereCredentialsSent: Bool = false,
        previousRefusals: Int = 0
    ) {
        self.url = url
        self.schemes = schemes
        self.realm = realm
        self.wereCredentialsSent = wereCredentialsSent
        self.previousRefusals = previousRefusals
    }
}

/// A URL that a server refused.
public struct TransferRefusedURL: Hashable, Sendable {
    /// The URL that was refused: the request's, or a redirect's.
    public var url: String
    /// The status of the refusal: 400, 401, 403, 404 or 410.
    public var status: Int

    /// Makes a refused URL, for tests.
    public init(url: String, status: Int) {
        self.url = url
        self.status = status
    }
}

/// What to do with a response whose head has arrived. Others may be added.
public struct ResponseDisposition: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The name.
    public let rawValue: String
    /// Makes a disposition from its name.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// The name.
    public var description: String { rawValue }

    /// Receive the body.
    public static let allow = ResponseDisposition(rawValue: "allow")
    /// Cancel the request. A download keeps what it had received.
    public static let cancel = ResponseDisposition(rawValue: "cancel")
}

/// Calls the session's authenticator once for concurrent refusals, and caches the credentials for refusals that arrive
/// later.
actor CredentialCache {
    /// Credentials, with their ordinal among the results for the same realm, and whether the caller wasn't asked for them.
    typealias CachedCredentials = (credentials: TransferCredentials, generation: Int, isRemembered: Bool)

    private struct Entry {
        var provided: CachedCredentials?
        var task: Task<Void, Never>?
        var waiters: [Int: CheckedContinuation<CachedCredentials?, Never>] = [:]
    }

    private var entries: [String: Entry] = [:]
    private var lastWaiter = 0

    /// The maximum number of cached origins and realms: 64. Beyond it nothing is shared.
    static let maximumEntries = 64

    /// The credentials for a challenge; `nil` when the caller has none, or the task is cancelled. The call is cancelled
    /// with the last task that waits for it.
    ///
    /// - Parameters:
    ///   - seen: The generation of the refused credentials: 0 for none.
    ///   - ask: Calls the caller.
    func credentials(
        for challenge: TransferChallenge,
        origin: String,
        seen: Int,
        _ ask: @escaping @Sendable (TransferChallenge) async -> TransferCredentials?
    ) async -> CachedCredentials? {
        let key = "\(origin) \(challenge.realm ?? "")"
        guard entries[key] != nil || entries.count < Self.maximumEntries else {
            return await ask(challenge).map { ($0, seen, false) }
        }
        if let provided = entries[key]?.provided, provided.generation > seen {
            return (provided.credentials, provided.generation, true)
        }
        lastWaiter += 1
        let waiter = lastWaiter
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                guard !Task.isCancelled else { return continuation.resume(returning: nil) }
                entries[key, default: Entry()].waiters[waiter] = continuation
                if entries[key]?.task == nil {
                    entries[key]?.task = Task {
                        let found = await ask(challenge)
                        self.resolve(key, found)
                    }
                }
            }
        } onCancel: {
            Task { await self.leave(key, waiter) }
        }
    }

    private func resolve(_ key: String, _ found: TransferCredentials?) {
        // A cancelled call has no waiters.
        guard !Task.isCancelled, var entry = entries[key] else { return }
        let provided = found.map { ($0, (entry.provided?.generation ?? 0) + 1, false) }
        let waiters = entry.waiters.values
        (entry.task, entry.waiters) = (nil, [:])
        if let provided { entry.provided = provided }
        entries[key] = entry
        for waiter in waiters { waiter.resume(returning: provided) }
    }

    private func leave(_ key: String, _ waiter: Int) {
        guard let continuation = entries[key]?.waiters.removeValue(forKey: waiter) else { return }
        continuation.resume(returning: nil)
        guard let entry = entries[key], entry.waiters.isEmpty else { return }
        entry.task?.cancel()
        entries[key]?.task = nil
    }
}

extension TransferSession {
    /// The engine's callbacks for a request.
    func callbacks(for request: TransferRequest, isForUpload: Bool) -> TransferCallbacks {
        var callbacks = TransferCallbacks()
        let provided = { @Sendable (credentials: TransferCredentials?) throws(EngineError) -> RequestCredentials? in
            guard let credentials else { return nil }
            var authenticated = request
            authenticated.credentials = credentials
            // A caller's field would override the new credentials.
            authenticated.headers[.authorization] = nil
            do throws(TransferError) {
                return try authenticated.engineCredentials(isForUpload: isForUpload)
            } catch {
                throw .invalidCredentials(error.message)
            }
        }
        if let ask = request.authenticator {
            callbacks.authenticate = { (refusal) async throws(EngineError) in
                try provided(await ask(TransferChallenge(refusal)))
            }
        } else if let ask = configuration.authenticator {
            // Refusals of remembered credentials don't count: the caller, who was never asked, may know newer ones.
            let seen = Mutex((generation: 0, remembered: 0))
            callbacks.authenticate = { [credentialCache] (refusal) async throws(EngineError) in
                let origin = "\(refusal.url.scheme.rawValue)://\(refusal.url.authority)"
                let known = seen.withLock { seen in
                    if refusal.previousRefusals == 0 { seen.remembered = 0 }
                    return seen
                }
                var challenge = TransferChallenge(refusal)
                challenge.previousRefusals = max(0, challenge.previousRefusals - known.remembered)
                guard
                    let found = await credentialCache.credentials(
                        for: challenge,
                        origin: origin,
                        seen: known.generation,
                        ask
                    )
                else { return nil }
                seen.withLock { seen in
                    seen.generation = found.generation
                    if found.isRemembered { seen.remembered += 1 }
                }
                return try provided(found.credentials)
            }
        }
        if let refresh = request.urlRefresher {
            callbacks.refreshURL = { await refresh(TransferRefusedURL(url: $0.url.text, status: $0.status)) }
        }
        if let inform = request.onInterimResponse {
            callbacks.onInterimResponse = { inform(InterimResponse(status: $0, headers: $1)) }
        }
        if let mayRetry = configuration.shouldRetry {
            callbacks.mayRetry = { mayRetry(TransferRetry($0, after: $1)) }
        }
        if let decide = request.onResponse {
            callbacks.accepts = { await decide(TransferResponse($0)) != .cancel }
        }
        return callbacks
    }
}

extension TransferChallenge {
    fileprivate init(_ refusal: AttemptRefusal) {
        self.init(
            url: refusal.url.text,
            schemes: refusal.challenge?.schemes ?? [],
            realm: refusal.challenge?.realm,
            wereCredentialsSent: refusal.use == .sent,
            previousRefusals: refusal.previousRefusals
        )
    }
}

extension TransferResponse {
    init(_ response: ResponseHead) {
        self.init(status: response.status, headers: response.fields, url: response.url)
    }
}
