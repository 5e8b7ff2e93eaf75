import HTTPTransport
import HTTPTypes
import NIOCore
import NIOHTTP1
import NIOHTTPTypesHTTP1
import NIOPosix
import SystemPackage
import TransferProtocol

/// Why an attempt has no response, or only a part of one.
enum AttemptFailure {
    /// The transfer has failed.
    case final(TransferError)
    /// A retry may fix it.
    case transient(TransientFailure)

    /// Classifies an error of `RequestSending`.
    init(_ error: any Error, at url: TransferURL) {
        if let error = error as? TransferError {
            self = .final(error)
        } else if let problem = error as? TLSSettingsProblem {
            self = .final(.invalidTLSSettings(problem))
        } else if let failure = TLSFailure(error), failure.isFinal {
            self = .final(.tlsRefused(host: url.host, failure))
        } else if let failure = error as? HTTPProxyFailure, failure.status == 407 {
            var fields: HTTPFields = [:]
            fields[.proxyAuthenticate] = failure.challenge
            self = .final(.refused(.unauthorized(HTTPChallenge(status: 407, fields), .none)))
        } else if !Task.isCancelled, let cause = Self.cause(of: error) {
            self = .transient(cause)
        } else {
            self = .final(.cancelled)
        }
    }

    /// The cause for the retry decision; `nil` for a cancellation.
    private static func cause(of error: any Error) -> TransientFailure? {
        switch error {
        case let error as TransientFailure: error
        case let error as TLSFailure: .connectFailed(error.description)
        case let error as HTTPParserError where error == .invalidEOFState:
            .connectionLost("it was closed in the middle of the answer")
        case HTTPParserError.unexpectedContentLength, HTTPParserError.invalidContentLength, HTTPParserError.unknown:
            ambiguousLength
        case let error as HTTPParserError: .malformedResponse(String(describing: error))
        case let error as HTTP1TypeConversionError: .malformedResponse(String(describing: error))
        case let error as NIOHTTPDecoderError: .malformedResponse(error.debugDescription)
        case ChannelError.connectTimeout: .connectTimedOut
        case let error as NIOConnectionError: connectFailure(of: error)
        case let error as ProxyConnectionError: connectFailure(of: error.reason, to: error.proxy)
        case let error as HTTPProxyFailure:
            .connectFailed(
                error.status.map { "the proxy \(error.proxy) answered \($0)" } ?? "the proxy \(error.proxy) closed"
            )
        case is CancellationError: nil
        default: lost(error)
        }
    }

    /// A head whose `Content-Length` is no number or beside `Transfer-Encoding`, or that has lines which end in LF alone. For these and
    /// for `Content-Length` before `Transfer-Encoding` the parser has no other error than the unknown one.
    static let ambiguousLength = TransientFailure.malformedResponse(
        "a Content-Length that is no number or beside Transfer-Encoding, or a line that ends in LF alone"
    )

    private static func lost(_ error: any Error) -> TransientFailure {
        if let failure = HTTP2Failure(error) {
            return failure.kind == .streamRefused
                ? .connectFailed("the server refused the stream") : .connectionLost(failure.description)
        }
        return .connectionLost(TLSFailure(error)?.description ?? description(of: error))
    }

    /// Whether an error after the end of a response means that excess bytes arrived.
    static func isExcess(_ error: any Error) -> Bool {
        error is HTTPParserError || error is HTTP1TypeConversionError || error is NIOHTTPDecoderError
    }

    /// For a system error: "Connection reset by peer (errno 104)".
    private static func description(of error: any Error) -> String {
        switch error {
        case let error as IOError: "\(Errno(rawValue: error.errnoCode)) (errno \(error.errnoCode))"
        case let error as SocketAddressError.UnknownHost: error.errorDescription
        default: String(describing: error)
        }
    }

    /// Classifies a failed connection to a proxy; the message names it.
    private static func connectFailure(of error: NIOConnectionError, to proxy: HTTPProxy) -> TransientFailure {
        guard case .connectFailed(let reason) = connectFailure(of: error) else { return connectFailure(of: error) }
        return .connectFailed("the proxy \(proxy) can't be reached: \(reason)")
    }

    private static func connectFailure(of error: NIOConnectionError) -> TransientFailure {
        let single = error.connectionErrors.last?.error
        if case ChannelError.connectTimeout? = single { return .connectTimedOut }
        if let single {
            let code = (single as? IOError).map { Errno(rawValue: $0.errnoCode) }
            return [.networkUnreachable, .noRouteToHost, .networkDown].contains(code)
                ? .unreachable(description(of: single)) : .connectFailed(description(of: single))
        }
        guard let lookup = error.dnsAError ?? error.dnsAAAAError else { return .connectFailed("no address") }
        return .unreachable("the name \(error.host) can't be looked up: \(description(of: lookup))")
    }
}

/// A proxy that can't be connected to.
struct ProxyConnectionError: Error {
    let proxy: HTTPProxy
    let reason: NIOConnectionError
}
