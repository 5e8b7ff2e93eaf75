import EventLoop
import FaultProfile
import OperatingSystem
import ProxyEngine

/// The reason why a request to the control server can't be carried out. Nothing has changed then.
struct ControlError: Error, Sendable {
    let status: Int
    let code: String
    /// The text, in Toxiproxy's words where it has some.
    let text: String
    /// The status of the response of Toxiproxy's API, where that differs.
    private(set) var toxiproxyStatus: Int
    /// The problems of a document, each with its place; none of another error.
    private(set) var problems: [Problem] = []

    private init(_ status: Int, _ code: String, _ text: String, toxiproxy: Int? = nil) {
        (self.status, self.code, self.text, toxiproxyStatus) = (status, code, text, toxiproxy ?? status)
    }

    private init(_ status: Int, _ code: String, _ found: ProfileProblems, fallback: String) {
        self.init(status, code, found.problems.first?.description ?? fallback)
        problems = found.problems
    }

    /// The cause of a proxy that didn't start.
    init(_ error: ProxyError) {
        switch error {
        case .cannotListen(let endpoint, let error): self = .cannotListen(endpoint, error)
        case .unresolved(let endpoint, let error): self = .cannotListen(endpoint, error)
        case .forwardsToItself, .openToAnybody, .unknownPhase, .withoutTLS, .noTLSHere, .unusable:
            self = .invalid(error.description)
        case .stopped: self = .stopped
        }
    }

    static let proxyNotFound = ControlError(404, "proxy-not-found", "proxy not found")
    static let proxyExists = ControlError(409, "proxy-exists", "proxy already exists")
    static let toxicNotFound = ControlError(404, "toxic-not-found", "toxic not found")
    static let toxicExists = ControlError(409, "toxic-exists", "toxic already exists")
    static let captureNotFound = ControlError(
        404,
        "capture-not-found",
        "there is no capture: PUT /v1/capture starts one"
    )
    static let stopped = ControlError(503, "stopping", "the server is stopping", toxiproxy: 500)

    static func faultNotFound(_ name: String) -> ControlError {
        ControlError(404, "fault-not-found", "there is no fault “\(name)”")
    }

    static func profileNotFound(_ name: String) -> ControlError {
        ControlError(404, "profile-not-found", "there is no profile \(name.quoted): GET /v1/profiles lists them")
    }

    static func profileNotFound(_ reason: ResolutionError) -> ControlError {
        ControlError(404, "profile-not-found", "\(reason.what): \(reason.remedy)")
    }

    static func connectionNotFound(_ number: UInt64) -> ControlError {
        ControlError(404, "connection-not-found", "no open connection has the number \(number)")
    }

    /// The state of the server doesn't allow it.
    static func conflict(_ text: String) -> ControlError { ControlError(409, "conflict", text) }

    /// A condition didn't hold within its time limit.
    static func waitedInVain(_ text: String) -> ControlError { ControlError(408, "timeout", text) }

    /// The request is wrong, in words for the client.
    static func invalid(_ text: String) -> ControlError { ControlError(400, "invalid", text) }

    /// The address to listen on is malformed, in Go's words.
    static func malformedListen(_ text: String) -> ControlError {
        ControlError(400, "cannot-listen", text, toxiproxy: 500)
    }

    static func cannotListen(_ endpoint: Endpoint, _ error: SystemError) -> ControlError {
        let reason = "\(error.reason.prefix(1).lowercased())\(error.reason.dropFirst())"
        let text =
            error.call == "getaddrinfo"
            ? "listen tcp: lookup \(endpoint.host): \(error.reason)"
            : "listen tcp \(endpoint): \(error.call): \(reason)"
        return ControlError(409, "cannot-listen", text, toxiproxy: 500)
    }

    /// Throws for a name of which a client would make another path (RFC 3986, section 5.2.4).
    static func checkPathName(_ name: String) throws(ControlError) {
        guard ![".", ".."].contains(name) else { throw .invalid("a name can't be \(name.quoted)") }
    }

    static func limit(_ text: String) -> ControlError { ControlError(429, "limit-reached", text) }

    static func problems(_ found: ProfileProblems) -> ControlError {
        ControlError(422, "profile-problems", found, fallback: "the profile has a problem")
    }

    static func malformed(_ found: ProfileProblems) -> ControlError {
        ControlError(400, "malformed-json", found, fallback: "the body isn't JSON")
    }

    /// What `read` returns; the problems of a profile that it throws are those of the request.
    @_semantics("optimize.sil.specialize.generic.never")
    static func reading<Result>(_ read: () throws(ProfileProblems) -> Result) throws(ControlError) -> Result {
        do throws(ProfileProblems) { return try read() } catch { throw .problems(error) }
    }

    /// What `body` returns, on whose failure the proxy hasn't started or changed.
    @discardableResult
    @_semantics("optimize.sil.specialize.generic.never")
    static func running<Result>(_ body: () async throws(ProxyError) -> Result) async throws(ControlError) -> Result {
        do throws(ProxyError) { return try await body() } catch { throw ControlError(error) }
    }
}
