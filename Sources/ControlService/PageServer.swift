import ControlAPI
import ProxyEngine
import TerminalDisplay

/// The control server of one program's page, for browsers of this machine.
package struct PageServer: Sendable {
    private static let host = "localhost"

    private let server: any ControlServing
    private let journal: JournalHub
    private let handler: ControlHandler

    /// A page of `proxies`, whose events `journal` has.
    ///
    /// - Parameters:
    ///   - token: What every request has to bear, if anything.
    ///   - story: Transfers that the page shows.
    package init(
        _ server: any ControlServing,
        _ proxies: ProxyManager,
        _ journal: JournalHub,
        token: String? = nil,
        story: Story? = nil
    ) {
        self.server = server
        self.journal = journal
        handler = ControlHandler(
            requestGuard: RequestGuard(token: token),
            toxiproxy: ToxiproxyAPI(proxies: proxies, isStrict: false),
            v1: V1API(
                proxies: proxies,
                profiles: ServedProfiles.store(folder: nil) { journal.notices.noteChange() },
                story: story
            )
        )
    }

    /// Serves the page until `stop` returns.
    ///
    /// - Parameters:
    ///   - port: 0 takes a free one.
    ///   - ready: Called once with the page's URL and port.
    package func run(
        port: Int,
        ready: @escaping @Sendable (_ url: String, _ port: Int) async -> Void,
        until stop: @escaping @Sendable () async -> Void
    ) async throws(CommandFailure) {
        let journal = journal
        do throws(ControlServerFailure) {
            try await server.run(handler, host: PageServer.host, port: port, connectionLimit: controlConnectionLimit) {
                _ in
                // A page that can't be loaded says so itself.
            } ready: { port in
                await ready("http://\(PageServer.host):\(port)/", port)
            } until: {
                await stop()
                journal.notices.stop()
            }
        } catch {
            throw error.commandFailure(PageServer.host, port)
        }
    }
}
