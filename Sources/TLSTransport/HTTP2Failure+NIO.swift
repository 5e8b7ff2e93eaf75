#if TLS
    import HTTPTransport
    import NIOCore
    import NIOHTTP2

    extension NIOHTTP2Errors.StreamClosed: HTTP2FailureConvertible {
        /// The failure.
        public var http2Failure: HTTP2Failure {
            HTTP2Failure("the stream was ended with the error \(errorCode.name)", kind: errorCode.failure)
        }
    }

    extension NIOHTTP2Errors.ContentLengthViolated: HTTP2FailureConvertible {
        /// The failure.
        public var http2Failure: HTTP2Failure {
            HTTP2Failure("the content hasn't the length that its head names", kind: .other)
        }
    }

    /// Turns the other errors of NIO's HTTP/2 into failures, in the pipeline of a stream.
    final class HTTP2ErrorReader: ChannelInboundHandler {
        typealias InboundIn = Never

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            guard HTTP2Failure(error) == nil, error is any NIOHTTP2Error else { return context.fireErrorCaught(error) }
            let reason = "the server breaks the rules of HTTP/2 (\(type(of: error)))"
            context.fireErrorCaught(HTTP2Failure(reason, kind: .other))
        }
    }

    extension HTTP2ErrorCode {
        /// What the code says about a request.
        fileprivate var failure: HTTP2Failure.Kind {
            switch self {
            case .refusedStream: .streamRefused
            case .http11Required: .http1Required
            default: .other
            }
        }

        /// The name of an error code (RFC 9113, section 7).
        fileprivate var name: String {
            switch self {
            case .noError: "NO_ERROR"
            case .protocolError: "PROTOCOL_ERROR"
            case .internalError: "INTERNAL_ERROR"
            case .flowControlError: "FLOW_CONTROL_ERROR"
            case .settingsTimeout: "SETTINGS_TIMEOUT"
            case .streamClosed: "STREAM_CLOSED"
            case .frameSizeError: "FRAME_SIZE_ERROR"
            case .refusedStream: "REFUSED_STREAM"
            case .cancel: "CANCEL"
            case .compressionError: "COMPRESSION_ERROR"
            case .connectError: "CONNECT_ERROR"
            case .enhanceYourCalm: "ENHANCE_YOUR_CALM"
            case .inadequateSecurity: "INADEQUATE_SECURITY"
            case .http11Required: "HTTP_1_1_REQUIRED"
            default: "\(networkCode)"
            }
        }
    }
#endif
