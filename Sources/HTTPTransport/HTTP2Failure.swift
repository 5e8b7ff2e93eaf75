#if TLS
    import NIOHTTP2

    /// Why an exchange by HTTP/2 ended early, as a clause.
    public struct HTTP2Failure: Error, Hashable, Sendable, CustomStringConvertible {
        /// The clause.
        public let description: String

        /// Recognizes an error of HTTP/2; `nil` for any other.
        public init?(_ error: any Error) {
            switch error {
            case let error as NIOHTTP2Errors.StreamClosed:
                description = "the stream was ended with the error \(HTTP2Failure.name(of: error.errorCode))"
            case is NIOHTTP2Errors.ContentLengthViolated:
                description = "the content hasn't the length that its head names"
            case let error as any NIOHTTP2Error:
                description = "the server breaks the rules of HTTP/2 (\(type(of: error)))"
            default: return nil
            }
        }

        /// The name of an error code (RFC 9113, section 7).
        private static func name(of code: HTTP2ErrorCode) -> String {
            switch code {
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
            default: "\(code.networkCode)"
            }
        }
    }
#endif
