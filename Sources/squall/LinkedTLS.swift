#if TLS
    import HTTPTransport
    import DevelopmentCA
    import SquallCommand
    import TLSTransport

    /// TLS by the library that this program links.
    struct LinkedTLS: CommandTLS {
        func client(authorities: [UInt8]?, identity: PEMIdentity?) throws(TLSSettingsProblem) -> any ClientTLS {
            var settings = try authorities.map(TLSClientSettings.init(authorities:)) ?? TLSClientSettings()
            settings.identity = try identity.map(TLSIdentity.init)
            return TLSClient(settings)
        }

        func server(_ identity: PEMIdentity) throws(TLSSettingsProblem) -> any ServerTLS {
            try TLSServer(TLSIdentity(identity))
        }

        func authority(for names: [String]) throws -> (server: any ServerTLS, certificate: String) {
            let authority = try DevelopmentCA()
            return (try server(authority.identity(for: names)), authority.certificate)
        }
    }
#endif
