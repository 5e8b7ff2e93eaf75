#if TLS
    import HTTPTransport
    import ProxyEngine
    import TLSTransport

    extension TLSSessionFailure {
        /// What in the library's name of an error stands in front of the name of an alert.
        private static let alertPrefixes = ["TLSV1_ALERT_", "SSLV3_ALERT_", "TLSV1_"]

        /// Reads an error of the library.
        init(_ error: any Error) {
            guard let failure = TLSFailure(error) else {
                self.init(alert: nil, description: "\(error)")
                return
            }
            if failure.reason == "UNSUPPORTED_PROTOCOL" {
                self.init(alert: nil, description: "both sides have no version of TLS in common")
                return
            }
            let prefix = Self.alertPrefixes.first { failure.reason.hasPrefix($0) }
            let alert = prefix.map { failure.reason.dropFirst($0.count).lowercased() }
            let remedy = failure.kind == .untrusted ? "; --ca-file FILE trusts its authority" : ""
            self.init(alert: alert, description: failure.description + remedy)
        }
    }
#endif
