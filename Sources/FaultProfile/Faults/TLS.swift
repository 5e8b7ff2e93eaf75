import Units

/// A fault of TLS itself, where the proxy speaks it with the client.
public enum TLSFault: Hashable, Sendable {
    /// The certificate has a flaw.
    case certificate(CertificateFlaw)
    /// The certificate and the key of a file are presented.
    case identity(CertificateFile)
    /// A fatal alert comes (RFC 8446, section 6), and the connection ends: in place of the ServerHello, or behind this many
    /// bytes of content for the client, which then needs TLS 1.3.
    case alert(TLSAlertName, at: ByteCount? = nil)
    /// These bytes come in place of the ServerHello, and the connection ends.
    case reply([UInt8])
    /// The handshake stands still, for a time above zero.
    case stall(HandshakePoint, for: Duration)
    /// ALPN chooses this protocol (RFC 7301); `nil` for none.
    case alpn(String?)
    /// The only version that the handshake agrees to.
    case version(TLSVersion)
    /// The most bytes of content in a record that the proxy writes: 1 to `largestRecord`.
    case record(ByteCount)

    /// The most bytes of `reply`: 4 KiB.
    public static let largestReply = 4_096
    /// The largest content of a record (RFC 8446, section 5.1): 16 KiB.
    public static let largestRecord = ByteCount.kibibytes(16)
    /// The most bytes of a protocol's name (RFC 7301, section 3.1).
    public static let protocolLength = 255
}

/// What is wrong with a certificate.
public enum CertificateFlaw: String, Hashable, Sendable, CaseIterable {
    /// Its time is over.
    case expired
    /// Its time has not come.
    case notYetValid = "not-yet-valid"
    /// It is for another host.
    case wrongHost = "wrong-host"
    /// It is signed by its own key.
    case selfSigned = "self-signed"
    /// It comes from an authority that nobody trusts, whose root is sent too.
    case untrusted
    /// That of the intermediate authority is missing.
    case noIntermediate = "no-intermediate"
    /// More certificates are sent than needed: `longChain` in all.
    case longChain = "long-chain"

    /// The certificates of `longChain`: 60.
    public static let longChainCount = 60
}

/// Where a handshake stands still.
public enum HandshakePoint: String, Hashable, Sendable, CaseIterable {
    /// Before the ServerHello.
    case serverHello = "server-hello"
    /// Behind the ServerHello, before the certificate.
    case certificate
    /// Before the server's last byte of the handshake.
    case finished
}

/// A version of TLS.
public enum TLSVersion: String, Hashable, Sendable, CaseIterable {
    /// RFC 5246.
    case tls12 = "1.2"
    /// RFC 8446.
    case tls13 = "1.3"
}

/// An alert (RFC 8446, section 6), by its name in IANA's registry: "unknown_ca".
public struct TLSAlertName: RawRepresentable, Hashable, Sendable, CaseIterable {
    private static let registry: KeyValuePairs<String, UInt8> = [
        "close_notify": 0, "unexpected_message": 10, "bad_record_mac": 20, "record_overflow": 22,
        "handshake_failure": 40, "bad_certificate": 42, "unsupported_certificate": 43, "certificate_revoked": 44,
        "certificate_expired": 45, "certificate_unknown": 46, "illegal_parameter": 47, "unknown_ca": 48,
        "access_denied": 49, "decode_error": 50, "decrypt_error": 51, "protocol_version": 70,
        "insufficient_security": 71, "internal_error": 80, "inappropriate_fallback": 86, "user_canceled": 90,
        "missing_extension": 109, "unsupported_extension": 110, "unrecognized_name": 112,
        "bad_certificate_status_response": 113, "unknown_psk_identity": 115, "certificate_required": 116,
        "no_application_protocol": 120,
    ]

    /// All of them, by number.
    public static let allCases = registry.map { TLSAlertName(rawValue: $0.key, number: $0.value) }

    /// The name.
    public let rawValue: String
    /// The number.
    public let number: UInt8

    private init(rawValue: String, number: UInt8) { (self.rawValue, self.number) = (rawValue, number) }

    /// The alert of a name; `nil` where the registry has none.
    public init?(rawValue: String) {
        guard let alert = Self.allCases.first(where: { $0.rawValue == rawValue }) else { return nil }
        self = alert
    }

    /// The alert of a number; `nil` where the registry has none.
    public init?(number: UInt8) {
        guard let alert = Self.allCases.first(where: { $0.number == number }) else { return nil }
        self = alert
    }
}

extension TLSFault: FaultDefinition {
    static let word = "tls"
    static let summary = "A fault of TLS itself: a bad certificate, an alert, a handshake that stops."
    static let example = #"{ "kind": "tls", "certificate": "expired" }"#
    static let table = ObjectTable(
        TLSFault.alpn(nil),
        texts: """
            certificate: what is wrong with the certificate; see the table
            identity: a file in PEM format with a certificate, its chain and its private key, which are presented
            alert: this fatal alert, and then the end
            at: with `alert`: after this many bytes of content for the client, in place of the ServerHello
            reply: these bytes in place of the ServerHello, and then the end
            stall: where the handshake stands still
            for: required with `stall`, and only then: for how long
            alpn: the protocol that ALPN chooses if the client offers it, or `none`
            version: the only version of TLS that the proxy agrees to
            record: the most content of each record
            """,
        oneOf: (choices, #""certificate": "expired""#),
        rules: [
            ("if", .requires("stall")), ("then", .requires("for")),
            // No “at” without “alert”.
            ("not", .object([("required", .array([.text("at")])), ("not", .requires("alert"))])),
        ],
        [
            .one("certificate", \.self, .choice, TLSFault.certificate) {
                if case .certificate(let flaw) = $0 { flaw } else { nil }
            },
            .one("identity", \.self, identityFile, TLSFault.identity) {
                if case .identity(let file) = $0 { file } else { nil }
            },
            .one("alert", \.self, .choice, { TLSFault.alert($0) }) {
                if case .alert(let alert, _) = $0 { alert } else { nil }
            },
            .part("at", .size) {
                if case .alert(_, let offset) = $0 { offset } else { nil }
            } set: {
                if case .alert(let alert, _) = $0 { $0 = .alert(alert, at: $1) }
            },
            .one("reply", \.self, .bytes(replyBytes, limit: largestReply, of: "a reply"), TLSFault.reply) {
                if case .reply(let bytes) = $0 { bytes } else { nil }
            },
            .one("stall", \.self, .choice, { TLSFault.stall($0, for: .zero) }) {
                if case .stall(let point, _) = $0 { point } else { nil }
            },
            .part("for", .positiveDuration) {
                if case .stall(_, let time) = $0 { time } else { nil }
            } set: {
                if case .stall(let point, _) = $0 { $0 = .stall(point, for: $1) }
            },
            .one("alpn", \.self, protocolName, { TLSFault.alpn($0 == noProtocol ? nil : $0) }) {
                if case .alpn(let name) = $0 { name ?? noProtocol } else { nil }
            },
            .one("version", \.self, .choice, TLSFault.version) {
                if case .version(let version) = $0 { version } else { nil }
            },
            .one("record", \.self, recordSize, TLSFault.record) {
                if case .record(let size) = $0 { size } else { nil }
            },
        ]
    )

    private static let choices = ["certificate", "identity", "alert", "reply", "stall", "alpn", "version", "record"]
    private static let noProtocol = "none"
    private static let replyBytes = ValueForm.bytes("replyBytes", limit: largestReply, "HTTP/1.1 400 Bad Request")

    private static let protocolName = Form<String>(
        .protocolName,
        read: { node, key, decoder in
            guard let name = decoder.text(node, key: key, limit: protocolLength) else { return nil }
            if (1...protocolLength).contains(name.utf8.count), name.utf8.allSatisfy({ $0 < 0x80 }) { return name }
            decoder.report(
                "the name of a protocol has 1 to \(protocolLength) characters of ASCII",
                remedy: "write one, such as “h2”, or “none”",
                at: node.place
            )
            return nil
        },
        write: { .text($0) }
    )

    private static let identityFile = Form<CertificateFile>(
        .certificatePath,
        read: { node, key, decoder in
            guard let file = decoder.text(node, key: key, limit: ProfileLimits.pathLength) else { return nil }
            return decoder.certificateFile(file, at: node.place)
        },
        write: { .text($0.file) }
    )

    private static let recordSize = Form.positiveSize.only(
        where: { $0 <= largestRecord },
        else: { _, size in
            ("a record has at most \(largestRecord.text) of content, not \(size.text)", "write “512 B”")
        }
    ).described("size above zero, up to `\"\(largestRecord.text)\"`")

    static var limits: [(text: String, name: String, value: String)] {
        [("bytes of a reply in place of a ServerHello", "TLSFault.largestReply", ByteCount(Int64(largestReply)).text)]
    }

    var kind: FaultKind { .tls(self) }
    var figures: FaultFigures {
        let text =
            switch self {
            case .certificate(let flaw): "certificate \(flaw.rawValue)"
            case .identity(let file):
                "certificate of \(file.file.split(separator: "/").last.map(String.init) ?? file.file)"
            case .alert(let alert, nil): "alert \(alert.rawValue)"
            case .alert(let alert, let offset?): "alert \(alert.rawValue) at \(offset.text)"
            case .reply(let bytes): "reply of \(bytes.count) B"
            case .stall(let point, let time): "stall of \(time.text) at \(point.rawValue)"
            case .alpn(let name): "ALPN \(name ?? TLSFault.noProtocol)"
            case .version(let version): "version \(version.rawValue)"
            case .record(let size): "records of \(size.text)"
            }
        return FaultFigures(text: "tls \(text)", isAtPosition: true)
    }
    var reasonAgainstMessages: String? {
        if case .alert(_, _?) = self {
            "its offset counts all content"
        } else {
            "no message has come during a handshake"
        }
    }
    var isReplayedByPosition: Bool { if case .alert(_, _?) = self { true } else { false } }

    func replayed(at event: ReplayedPosition) -> FaultKind? {
        if case .alert(let alert, _?) = self { .tls(.alert(alert, at: event.at)) } else { nil }
    }

    func check(_ context: FaultContext, _ decoder: inout ProfileDecoder) {
        context.checkBothStreams("a tls fault acts on the handshake as a whole", &decoder)
        let (object, condition) = (context.object, context.condition)
        if case .stall = self {
            if object["for"] == nil {
                decoder.report(
                    "a handshake that stalls needs the key “for”",
                    remedy: "add “\"for\": \"5 s\"”",
                    at: object.place
                )
            }
        } else if object["for"] != nil {
            decoder.report("“for” is for a handshake that stalls", remedy: "delete it", at: object.place(of: "for"))
        }
        if object["at"] != nil {
            if case .alert = self {
            } else {
                decoder.report("“at” is for an alert", remedy: "delete it", at: object.place(of: "at"))
            }
        }
        if condition.ageFrom > .zero || condition.ageUntil != nil {
            decoder.report(
                "a tls fault acts when a connection begins, and knows no age",
                remedy: "delete “age”",
                at: object.place(of: "when")
            )
        }
    }
}
