import EventLoop
import FaultProfile
import OperatingSystem
import ProxyEngine

/// The reason why a request to the control server can't be carried out. Nothing has changed then.
enum ControlError: Error, Sendable {
    case proxyNotFound(String)
    case proxyExists(String)
    case toxicNotFound(String)
    case toxicExists(String)
    case faultNotFound(String)
    case profileNotFound(String)
    case connectionNotFound(UInt64)
    /// The state of the server doesn't allow it.
    case conflict(String)
    /// A condition didn't hold within its time limit.
    case waitedInVain(String)
    /// The request is wrong, in words for the client.
    case invalid(String)
    /// The address to listen on is malformed, in Go's words.
    case malformedListen(String)
    case cannotListen(Endpoint, SystemError)
    /// A limit of the server is reached.
    case limit(String)
    case problems(ProfileProblems)
    /// The body isn't JSON.
    case malformed(ProfileProblems)
    case stopped

    /// The cause of a proxy that didn't start.
    init(_ error: ProxyError) {
        switch error {
        case .cannotListen(let endpoint, let error): self = .cannotListen(endpoint, error)
        case .unresolved(let endpoint, let error): self = .cannotListen(endpoint, error)
        case .forwardsToItself, .openToAnybody, .unknownPhase: self = .invalid(error.description)
        case .stopped: self = .stopped
        }
    }

    /// The status of the response of Toxiproxy's API.
    var status: Int {
        switch self {
        case .proxyNotFound, .toxicNotFound, .faultNotFound, .profileNotFound, .connectionNotFound: 404
        case .waitedInVain: 408
        case .proxyExists, .toxicExists, .conflict: 409
        case .invalid, .malformed: 400
        case .limit: 429
        case .problems: 422
        case .malformedListen, .cannotListen, .stopped: 500
        }
    }

    /// The text, in Toxiproxy's words where it has some.
    var text: String {
        switch self {
        case .proxyNotFound: "proxy not found"
        case .proxyExists: "proxy already exists"
        case .toxicNotFound: "toxic not found"
        case .toxicExists: "toxic already exists"
        case .faultNotFound(let name): "there is no fault “\(name)”"
        case .profileNotFound(let name): "there is no profile “\(name)”"
        case .connectionNotFound(let number): "no open connection has the number \(number)"
        case .conflict(let text), .waitedInVain(let text): text
        case .invalid(let text), .limit(let text): text
        case .malformedListen(let text): text
        case .cannotListen(let endpoint, let error) where error.call == "getaddrinfo":
            "listen tcp: lookup \(endpoint.host): \(error.reason)"
        case .cannotListen(let endpoint, let error):
            "listen tcp \(endpoint): \(error.call): \(error.reason.prefix(1).lowercased())\(error.reason.dropFirst())"
        case .problems(let problems): problems.problems.first?.description ?? "the profile has a problem"
        case .malformed(let problems): problems.problems.first?.description ?? "the body isn't JSON"
        case .stopped: "the server is stopping"
        }
    }

    /// The problems of a document, each with its place; none of another error.
    var listedProblems: [Problem] {
        switch self {
        case .problems(let found), .malformed(let found): found.problems
        case .proxyNotFound, .proxyExists, .toxicNotFound, .toxicExists, .faultNotFound, .profileNotFound,
            .connectionNotFound, .conflict, .waitedInVain, .invalid, .malformedListen, .cannotListen, .limit, .stopped:
            []
        }
    }

    /// A word for programs.
    var code: String {
        switch self {
        case .proxyNotFound: "proxy-not-found"
        case .proxyExists: "proxy-exists"
        case .toxicNotFound: "toxic-not-found"
        case .toxicExists: "toxic-exists"
        case .faultNotFound: "fault-not-found"
        case .profileNotFound: "profile-not-found"
        case .connectionNotFound: "connection-not-found"
        case .conflict: "conflict"
        case .waitedInVain: "timeout"
        case .invalid: "invalid"
        case .malformedListen, .cannotListen: "cannot-listen"
        case .limit: "limit-reached"
        case .problems: "profile-problems"
        case .malformed: "malformed-json"
        case .stopped: "stopping"
        }
    }
}
