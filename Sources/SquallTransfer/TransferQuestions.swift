internal import HTTPTypes
internal import Synchronization
internal import TransferClient
internal import TransferProtocol

/// A server that wants credentials (RFC 9110, section 11.6.1): a 401 from the origin of the request's URL.
public struct TransferChallenge: Hashable, Sendable {
    /// The URL that refused.
    public var url: String
    /// The names of the schemes that it offers, such as `Bearer`: at most 4.
    public var schemes: [String]
    /// The first realm that it names.
    public var realm: String?
    /// Whether the request carried credentials. They were wrong then, or have expired.
    public var wereCredentialsSent: Bool
    /// The answers in a row that it refused before: 0 to 2.
    public var previousRefusals: Int

    /// Makes a question, as tests of an answer need it.
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
    /// The URL that refused: the request's, or one that it was redirected to.
    public var url: String
    /// The status of the refusal: 400, 401, 403, 404 or 410.
    public var status: Int

    /// Makes a question, as tests of an answer need it.
    public init(url: String, status: Int) {
        self.url = url
        self.status = status
    }
}

/// The fate of a response whose head has come. Others may be added.
public struct ResponseDisposition: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The name.
    public let rawValue: String
    /// Makes a disposition of its name.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// The name.
    public var description: String { rawValue }

    /// Its body is received.
    public static let allow = ResponseDisposition(rawValue: "allow")
    /// The request ends as cancelled. A download keeps what it had.
    public static let cancel = ResponseDisposition(rawValue: "cancel")
}

/// Asks the session's authenticator once where several transfers were refused together, and remembers the answer for those whose
/// refusal comes late.
actor CredentialDesk {
    /// Credentials, and how many answers to the same question there were up to this one.
    typealias Answer = (credentials: TransferCredentials, generation: Int)

    private struct Entry {
        var answer: Answer?
        var asking: Task<Void, Never>?
        var waiters: [Int: CheckedContinuation<Answer?, Never>] = [:]
    }

    private var entries: [String: Entry] = [:]
    private var lastWaiter = 0

    /// The origins and realms that are remembered: 64. Beyond, nothing is shared.
    static let mostEntries = 64

    /// The credentials for a challenge; `nil` where the caller has none, and when the task is cancelled. The question is cancelled
    /// with the last task that waits for its answer.
    ///
    /// - Parameters:
    ///   - seen: The generation of the credentials that the server has refused: 0 for none.
    ///   - ask: Asks the caller.
    func credentials(
        for challenge: TransferChallenge,
        origin: String,
        seen: Int,
        _ ask: @escaping @Sendable (TransferChallenge) async -> TransferCredentials?
    ) async -> Answer? {
        let key = "\(origin) \(challenge.realm ?? "")"
        guard entries[key] != nil || entries.count < Self.mostEntries else {
            return await ask(challenge).map { ($0, seen) }
        }
        if let answer = entries[key]?.answer, answer.generation > seen { return answer }
        lastWaiter += 1
        let waiter = lastWaiter
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                guard !Task.isCancelled else { return continuation.resume(returning: nil) }
                entries[key, default: Entry()].waiters[waiter] = continuation
                if entries[key]?.asking == nil {
                    entries[key]?.asking = Task {
                        let found = await ask(challenge)
                        self.settle(key, found)
                    }
                }
            }
        } onCancel: {
            Task { await self.leave(key, waiter) }
        }
    }

    private func settle(_ key: String, _ found: TransferCredentials?) {
        // A question that was cancelled has nobody who waits for its answer.
        guard !Task.isCancelled, var entry = entries[key] else { return }
        let answer = found.map { ($0, (entry.answer?.generation ?? 0) + 1) }
        let waiters = entry.waiters.values
        (entry.asking, entry.waiters) = (nil, [:])
        if let answer { entry.answer = answer }
        entries[key] = entry
        for waiter in waiters { waiter.resume(returning: answer) }
    }

    private func leave(_ key: String, _ waiter: Int) {
        guard let continuation = entries[key]?.waiters.removeValue(forKey: waiter) else { return }
        continuation.resume(returning: nil)
        guard let entry = entries[key], entry.waiters.isEmpty else { return }
        entry.asking?.cancel()
        entries[key]?.asking = nil
    }
}

extension TransferSession {
    /// The questions that the engine asks for a request.
    func callbacks(for request: TransferRequest, isForUpload: Bool) -> TransferCallbacks {
        var callbacks = TransferCallbacks()
        let answer = { @Sendable (credentials: TransferCredentials) -> DownloadCredentials? in
            var answered = request
            answered.credentials = credentials
            // A field of the caller's would take the place of the answer.
            answered.headers.removeAll { $0.name.lowercased() == "authorization" }
            return try? answered.downloadCredentials(isForUpload: isForUpload)
        }
        if let ask = request.authenticator {
            callbacks.authenticate = { await ask(TransferChallenge($0)).flatMap(answer) }
        } else if let ask = configuration.authenticator {
            let seen = Mutex(0)
            callbacks.authenticate = { [desk] question in
                let origin = (try? DownloadURL(question.url)).map { "\($0.scheme.rawValue)://\($0.authority)" } ?? ""
                let known = seen.withLock { $0 }
                let challenge = TransferChallenge(question)
                guard let found = await desk.credentials(for: challenge, origin: origin, seen: known, ask) else {
                    return nil
                }
                seen.withLock { $0 = found.generation }
                return answer(found.credentials)
            }
        }
        if let refresh = request.urlRefresher {
            callbacks.refreshURL = { await refresh(TransferRefusedURL(url: $0.url, status: $0.status)) }
        }
        if let decide = request.onResponse {
            callbacks.accepts = { await decide(TransferResponse($0)) != .cancel }
        }
        return callbacks
    }
}

extension TransferChallenge {
    fileprivate init(_ question: AuthenticationQuestion) {
        self.init(
            url: question.url,
            schemes: question.challenge.schemes,
            realm: question.challenge.realm,
            wereCredentialsSent: question.wereCredentialsSent,
            previousRefusals: question.previousRefusals
        )
    }
}

extension TransferResponse {
    init(_ response: ExchangeResponse) {
        self.init(
            status: response.status,
            headers: response.fields.map { TransferHeader($0.name.rawName, $0.value) },
            url: response.url
        )
    }
}
