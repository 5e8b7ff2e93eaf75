/// What a peer of a protocol other than HTTP sends first, whole.
package struct FirstMessage: Sendable, CustomStringConvertible {
    package let name: String
    package let bytes: [UInt8]
    /// Whether the server speaks first.
    package let isServers: Bool

    private init(_ name: String, _ text: String, isServers: Bool = false) {
        self.init(name, Array(text.utf8), isServers: isServers)
    }

    private init(_ name: String, _ bytes: [UInt8], isServers: Bool = false) {
        self.name = name
        self.bytes = bytes
        self.isServers = isServers
    }

    package var description: String { name }

    /// The first messages of real programs.
    package static let all: [FirstMessage] =
        [
            FirstMessage("git", "0032git-upload-pack /project.git\0host=example.org\0"),
            FirstMessage("SSH, the client", "SSH-2.0-OpenSSH_9.9\r\n"),
            FirstMessage("SSH, the server", "SSH-2.0-OpenSSH_9.9\r\n", isServers: true),
            FirstMessage("SMTP, the server", "220 mail.example.org ESMTP Postfix\r\n", isServers: true),
            FirstMessage("SMTP, the client", "EHLO client.example.org\r\n"),
            FirstMessage("LMTP", "LHLO client\r\n"),
            FirstMessage("POP3", "USER name\r\n"),
            FirstMessage("IMAP", "a001 LOGIN name secret\r\n"),
            FirstMessage("FTP", "AUTH TLS\r\n"),
            FirstMessage("PostgreSQL, SSLRequest", [0, 0, 0, 8, 4, 0xD2, 0x16, 0x2F]),
            FirstMessage("PostgreSQL, startup", [0, 0, 0, 18, 0, 3, 0, 0] + Array("user\0name\0\0".utf8)),
            FirstMessage("MySQL", [0x4A, 0, 0, 0, 10] + Array("8.0.40\0".utf8) + [8, 0, 0, 0, 1, 2], isServers: true),
            FirstMessage("Redis, inline", "PING\r\n"),
            FirstMessage("Redis, RESP", "*1\r\n$4\r\nPING\r\n"),
            FirstMessage("MQTT", [0x10, 16, 0, 4] + Array("MQTT".utf8) + [4, 2, 0, 60, 0, 4] + Array("name".utf8)),
            FirstMessage("memcached, get", "get foo\r\n"),
            FirstMessage("memcached, stats", "stats\r\n"),
            FirstMessage("memcached, binary", [0x80, 0x0B] + [UInt8](repeating: 0, count: 22)),
            FirstMessage("AMQP", Array("AMQP".utf8) + [0, 0, 9, 1]),
            FirstMessage(
                "Kafka",
                [0, 0, 0, 20, 0, 18, 0, 3, 0, 0, 0, 1, 0, 4] + Array("name".utf8) + [0, 0, 0, 0, 0, 0]
            ),
            FirstMessage("NATS, the server", "INFO {\"server_id\":\"N\",\"port\":4222}\r\n", isServers: true),
            FirstMessage("NATS, the client", "CONNECT {\"verbose\":false,\"pedantic\":false}\r\n"),
            FirstMessage("IRC, NICK", "NICK name\r\n"),
            FirstMessage("IRC, USER", "USER guest 0 * :Real Name\r\n"),
            FirstMessage("IRC, CAP", "CAP LS 302\r\n"),
            FirstMessage("rsync", "@RSYNCD: 31.0 sha512 sha256\n"),
            FirstMessage("TLS", [0x16, 3, 1, 0, 0xC4, 1, 0, 0, 0xC0, 3, 3] + [UInt8](repeating: 0x47, count: 190)),
            FirstMessage("HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
            FirstMessage("SIP", "REGISTER sip:example.org SIP/2.0\r\n"),
            FirstMessage("RTSP", "OPTIONS rtsp://example.org/media RTSP/1.0\r\n"),
            FirstMessage("STOMP", "CONNECT\naccept-version:1.2\n\n\0"),
            FirstMessage("XMPP", "<?xml version='1.0'?><stream:stream to='example.org'>"),
            FirstMessage("MongoDB", [0x47, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0xDD, 7, 0, 0]),
            FirstMessage("finger", "name\r\n"),
        ]
        + ["ruok", "stat", "conf", "mntr"].map { FirstMessage("ZooKeeper, \($0)", $0) }
        + ["hello", "abc\0def", "GET\0/", "POST /a\0b", "GET \\x HTTP/1.1"].map {
            FirstMessage("text \($0.debugDescription)", $0)
        }
        + [
            FirstMessage("a method in small letters", Array("get ".utf8) + [0xFF, 0xFE]),
            FirstMessage("a target above 0x7E", Array("GET /".utf8) + [0xFF, 0xFE]),
        ]
}
