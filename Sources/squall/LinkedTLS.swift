#if TLS
    import HTTPTransport
    import DevelopmentCA
    import ProxyEngine
    import SquallCommand
    import TLSSessions
    import TLSTransport

    /// TLS by the library that this program links.
    struct LinkedTLS: CommandTLS {
        func server(_ identity: PEMIdentity, offersHTTP2: Bool) throws(TLSSettingsProblem) -> any ServerTLS {
            try TLSServer(TLSIdentity(identity), offersHTTP2: offersHTTP2)
        }

        func hasExpired(_ identity: PEMIdentity, at time: Int) throws(TLSSettingsProblem) -> Bool {
            try TLSIdentity(identity).hasExpired(at: time)
        }

        func authority(for names: [String]) throws -> (server: any ServerTLS, certificate: String) {
            let authority = try DevelopmentCA()
            return (try server(authority.identity(for: names), offersHTTP2: true), authority.certificate)
        }

        func lastingAuthority(for names: [String], days: Int) throws -> (text: String, certificate: String) {
            let authority = try ConstrainedCA(for: names, lifetime: Double(days) * 86_400)
            return (authority.text, authority.certificate)
        }

        func check(authority text: String) throws(TLSSettingsProblem) { _ = try ConstrainedCA(text: text) }

        func proxy(
            _ settings: ProxyTLSSettings,
            listens: Bool,
            connects: Bool
        ) throws(TLSSettingsProblem) -> (tls: ProxyTLS, certificate: String?) {
            let keyLog = settings.keyLog.map { KeyLog($0) }
            var tls = ProxyTLS()
            if connects {
                var client = try settings.authorities.map(TLSClientSettings.init(authorities:)) ?? TLSClientSettings()
                client.identity = try settings.clientIdentity.map(TLSIdentity.init)
                tls.connector = try UpstreamConnector(client, keyLog: keyLog)
            }
            guard listens else { return (tls, nil) }
            if let identity = settings.identity {
                tls.acceptor = ClientAcceptor(try TLSIdentity(identity), keyLog: keyLog)
                return (tls, nil)
            }
            do {
                let names = settings.names + settings.intercepted
                let authority = try settings.authority.map { try ConstrainedCA(text: $0) } ?? ConstrainedCA(for: names)
                if let other = settings.intercepted.first(where: { !authority.permits($0) }) {
                    throw TLSSettingsProblem.refused(
                        "the authority doesn't sign for \(other); squall authority create --for \(other) makes one"
                    )
                }
                tls.acceptor = ClientAcceptor(keyLog: keyLog) { try TLSIdentity(authority.identity(for: $0, with: $1)) }
                return (tls, authority.certificate)
            } catch {
                throw .refused("\(error)")
            }
        }
    }
#endif
