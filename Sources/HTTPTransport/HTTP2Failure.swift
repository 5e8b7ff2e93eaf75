#if TLS
    import NIOHTTP2

    /// Why an HTTP/2 request failed. The description is a clause.
    public struct HTTP2Failure: Error, Hashable, Sendable, CustomStringConvertible {
        /// What the failure says about the request.
        public enum Kind: Hashable, Sendable {
            /// REFUSED_STREAM, or GOAWAY below the stream's ID: the server hasn't processed the request (RFC 9113,
            /// section 8.7).
            case streamRefused
            /// HTTP_1_1_REQUIRED: the request must be sent over HTTP/1.1 (section 7).
            case http1Required
            /// No conclusion.
            case other
        }

        /// The failure as a clause.
        public let description: String
        /// What the failure says about the request.
        public let kind: Kind

        /// Converts an error of HTTP/2; `nil` for any other.
        public init?(_ error: any Error) {
            switch error {
            case let error as NIOHTTP2Errors.StreamClosed:
                description = "the stream was ended with the error \(HTTP2Failure.name(of: error.errorCode))"
                kind = HTTP2Failure.kind(of: error.errorCode)
            case is NIOHTTP2Errors.ContentLengthViolated:
                description = "the content hasn't the length that its head names"
                kind = .other
            case let error as any NIOHTTP2Error:
                description = "the server breaks the rules of HTTP/2 (\(type(of: error)))"
                kind = .other
            default: return nil
            }
        }

        private static func kind(of code: HTTP2ErrorCode) -> Kind {
            switch code {
            case .refusedStream: .streamRefused
            case .http11Required: .http1Required
            default: .other
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
