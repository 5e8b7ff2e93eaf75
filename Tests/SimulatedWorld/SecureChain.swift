import EventLoop
import FaultProfile
import ProxyEngine

/// The proxies of a world with TLS, which is without cryptography, and what is wrong beside faults.
///
///     client ─▶ front ─ TLS ─▶ main ─▶ server
///     client ─▶ front ─ TLS ─▶ main ─ TLS ─▶ back ─▶ server
///
/// In the last case the one in the middle may be a forward proxy that intercepts TLS.
struct SecureChain {
    private static let mainPort: UInt16 = 4_500
    static let backPort: UInt16 = 5_500

    private static let host: HostPattern = {
        guard let pattern = try? HostPattern(parsing: "server.example") else { preconditionFailure("it is a host") }
        return pattern
    }()

    /// Whether the server of the proxy in the middle has TLS as well.
    private let hasBack: Bool
    /// Whether the proxy in the middle is a forward proxy, through which there is a tunnel.
    private let isIntercepted: Bool
    /// Whether the faults are those of `front`, whose clients have no TLS.
    let isFrontFaulty: Bool
    private let front: ClearSession.Manners
    private let main: (client: ClearSession.Manners, server: ClearSession.Manners)
    private let back: ClearSession.Manners
    /// What each client says that talks to `main` without a session, and its end.
    let strangers: [[UInt8]]
    /// The port for them.
    /// The least descriptors with which every proxy can go on: listeners, two for each stranger in the middle, and one more
    /// connection through all.
    static let descriptors = 3 + 2 * 3 + 2 * 3

    var strangersPort: UInt16 { SecureChain.mainPort }

    init(_ dice: inout Dice, isIntercepted: Bool) {
        self.isIntercepted = isIntercepted
        hasBack = dice.once(in: 2) || isIntercepted
        isFrontFaulty = dice.once(in: 4) && !isIntercepted
        // In every other world nothing but faults is wrong.
        let isOrderly = dice.once(in: 2)
        func manners() -> ClearSession.Manners { isOrderly ? ClearSession.Manners() : ClearSession.Manners.draw(&dice) }
        front = manners()
        main = (manners(), manners())
        back = manners()
        let count = !isOrderly && dice.once(in: 3) ? dice.number(1...3) : 0
        strangers = (0..<count).map { _ in
            let isTunnelled = isIntercepted && !dice.once(in: 3)
            return (isTunnelled ? Peer.Handshake.connect().request : []) + SecureChain.stranger(&dice)
        }
    }

    /// Whether a session may end a connection before its time.
    var endsConnections: Bool {
        front.endsConnections || main.client.endsConnections
            || hasBack && (main.server.endsConnections || back.endsConnections)
    }

    private static func stranger(_ dice: inout Dice) -> [UInt8] {
        let hello = [22, 3, 1, 0, UInt8(ClearSession.clientHello.count)] + ClearSession.clientHello
        let noise = (0..<dice.spread(1...20_000)).map { _ in UInt8(dice.number(0...255)) }
        return dice.pick([
            [], Array(hello.prefix(dice.number(1...hello.count))), hello, hello + noise,
            hello + [21, 3, 3, 0, 2, 2, 48], noise,
            [22, 3, 1] + noise, [21, 3, 3, 0, 2, 2, 40], Array("GET / HTTP/1.1\r\n\r\n".utf8),
        ])
    }

    /// The proxies in a row, of which the first one listens where `proxy` would, and the last one has its server.
    func configurations(of proxy: ProxyConfiguration) -> [ProxyConfiguration] {
        let ports = [SecureChain.mainPort] + (hasBack ? [SecureChain.backPort] : [])
        let secure = ports.map { Endpoint(host: "127.0.0.1", port: $0, usesTLS: true) }
        let listens = [proxy.listen] + secure
        var all = listens.map { listen in
            var one = proxy
            one.listen = listen
            return one
        }
        for index in secure.indices { all[index].destination = .upstream(secure[index]) }
        if isIntercepted {
            all[1].listen = Endpoint(host: secure[0].host, port: secure[0].port)
            all[1].destination = proxy.destination
            all[2].destination = .upstream(Endpoint(host: "127.0.0.1", port: 5_000))
        }
        let sessions = [(front, front), (main.server, main.client), (back, back)]
        let faulty = isFrontFaulty ? 0 : 1
        for index in all.indices {
            let (client, server) = sessions[index]
            all[index].tls = ProxyTLS(acceptor: ClearTLS(manners: server), connector: ClearTLS(manners: client))
            if isIntercepted, index == 0 { all[0].tls.connector = TunnelledTLS(manners: client) }
            if isIntercepted, index == 1 { all[1].tls.intercepted = [SecureChain.host] }
            guard index != faulty else { continue }
            all[index].name = ["front", "middle", "back"][index]
            all[index].profile = Profile(name: "none")
            all[index].connectionLimit = 16_384
        }
        return all
    }
}
