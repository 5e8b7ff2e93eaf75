import SquallCommand

#if Control
    import ControlServer
#endif

/// The `squall` command, with TLS and the control server as the traits of the build say.
@main
enum Squall {
    @MainActor static func main() async {
        var services = CommandServices()
        #if TLS
            services.tls = LinkedTLS()
        #endif
        #if Control
            services.controlServer = { ControlServer(tls: $0) }
        #endif
        await services.run(CommandLine.arguments)
    }
}
