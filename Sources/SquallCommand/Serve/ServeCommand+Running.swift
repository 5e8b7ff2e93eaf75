import ControlAPI
import ControlService
import EventLoop
import FaultProfile
import HTTPTransport
import OperatingSystem
import ProfileFiles
import ProxyEngine
import ProxyRunners
import ProxyRuntime
import QueueService
import TerminalDisplay
import Units

extension ServeCommand {
    /// Runs the control server and its proxies until a signal.
    func serve() async throws {
        let tls = try PEMFiles("--api", apiCert, apiKey)?.server(offersHTTP2: false)
        let server = try CommandServices.server(tls: tls)
        // The control server has a part of the descriptors that no proxy takes.
        let connections = min(controlConnectionLimit, ProcessLimits.raiseOpenFiles() / 4)
        ProcessLimits.reserveOpenFiles(connections)
        let warnings = try await withRuntime(threads: threads) { loops, interrupt in
            try await serve(server, on: loops, until: interrupt, connectionLimit: connections)
        }
        warnings.finish()
    }

    private func serve(
        _ server: any ControlServing,
        on loops: EventLoopGroup,
        until interrupt: Interrupt,
        connectionLimit: Int
    ) async throws(CommandFailure) -> Warnings {
        let token = try BearerToken.read(from: tokenFile)
        let seed = seed ?? UInt64.random(in: 0...0xFFFF_FFFF)
        let warnings = Warnings()
        let journal = JournalHub()
        let inputs = InputFiles()
        inputs.note(client.paths + tls.paths + [config, tokenFile, apiCert, apiKey, forward.proxyPasswordFile])
        try checkOutputs(inputs)
        let capture = try captures.opened(captureLimits, noting: inputs)
        let served = try ServedTLS(
            client,
            tls,
            intercepting: interception.intercept,
            capturing: capture?.capture,
            reading: inputs
        )
        defer { served.remove() }
        let policy = try forward.forwardProxy.map { _ throws(CommandFailure) in try forward.policy() }
        let proxies = ProxyManager(
            loops: loops,
            seed: seed,
            clockStart: start.moment,
            isStrict: strictCompat,
            forwardPolicy: policy,
            tls: { served.tls(isNeeded: $0) },
            journal: journal,
            report: { _, event in warnings.report(event) }
        )
        let toxiproxy = ToxiproxyAPI(proxies: proxies, isStrict: strictCompat)
        let store = ServedProfiles.store(folder: profiles) { journal.notices.noteChange() }
        let listing = try queue.map { name throws(CommandFailure) in (name, try QueueListing(named: name)) }
        let queue = listing.map { name, listing in QueueSource(name: name) { try await listing.jobs() } }
        let api = V1API(proxies: proxies, profiles: store, queue: queue)
        if let capture {
            capture.capture.begin()
            proxies.capture(by: capture.capture)
        }
        let (file, work) = try await prepare(api, toxiproxy, journal)
        let hasAuthority = (try? served.tls(isNeeded: false).get())?.authority != nil
        let invitation = try await beginForward(proxies, policy, hasAuthority: hasAuthority)
        let handler = ControlHandler(
            requestGuard: RequestGuard(allowedHosts: allowHost, token: token),
            toxiproxy: toxiproxy,
            v1: api,
            keep: file.map { file -> ControlHandler.Keep in { await file.keep() } }
        )
        let host = host
        do throws(ControlServerFailure) {
            try await server.run(handler, host: host, port: port, connectionLimit: connectionLimit) { code in
                warnings.report(.cannotAccept(SystemError(call: "accept", code: code)))
            } ready: { port in
                let shown = host.contains(":") ? "[\(host)]" : host
                Console.print(
                    "ready: \(apiCert == nil ? "http" : "https")://\(shown):\(port) (Toxiproxy's API, seed \(seed))"
                )
                for line in invitation { Console.print(line) }
                DetachedProgram.tellReady()
            } until: {
                await interrupt.wait()
                journal.notices.stop()
            }
        } catch {
            await ServeCommand.end(work)
            await proxies.stop()
            throw error.commandFailure(host, port)
        }
        // Before the proxies stop, which would count as disabled.
        await ServeCommand.end(work)
        await proxies.stop()
        try capture?.finish()
        return warnings
    }

    /// Makes the profiles and proxies of the files; returns the file of the state, and the tasks that follow the files.
    private func prepare(
        _ api: V1API,
        _ toxiproxy: ToxiproxyAPI,
        _ journal: JournalHub
    ) async throws(CommandFailure) -> (state: StateFile?, work: [Task<Void, Never>]) {
        let folder = profiles.map(ProfileFolder.init(path:))
        let watch = try await folder?.load(api)
        var file: StateFile?
        if let state {
            file = try await StateFile(state, api, journal) { () async throws(CommandFailure) in
                try await populate(toxiproxy, api)
            }
            // The state has the profiles as they were when it was kept.
            for report in await api.applyFolder() { Console.warn(lines: report) }
        } else {
            try await populate(toxiproxy, api)
        }
        var work: [Task<Void, Never>] = []
        if let folder, let watch { work.append(Task { await folder.follow(api, watch) }) }
        if let file { work.append(Task { await file.follow() }) }
        return (file, work)
    }

    /// Starts the forward proxy, if there is one; returns the lines that lead clients to it.
    private func beginForward(
        _ proxies: ProxyManager,
        _ policy: ForwardPolicy?,
        hasAuthority: Bool
    ) async throws(CommandFailure) -> [String] {
        guard let listen = forward.forwardProxy else { return [] }
        switch await proxies.beginForward(on: listen) {
        case .success(let address):
            return ["forward proxy: \(address) -> any host (proxy “\(ProxyManager.forwardName)”)"]
                + ForwardAnnouncement.lines(
                    for: address,
                    policy,
                    hasAuthority: hasAuthority,
                    columns: ForwardAnnouncement.codeColumns
                )
        case .failure(let error):
            throw .failed("--forward-proxy: \(error.description)")
        }
    }

    private static func end(_ work: [Task<Void, Never>]) async {
        for task in work {
            task.cancel()
            await task.value
        }
    }

    /// Makes the proxies of `config`, if there is one.
    private func populate(_ toxiproxy: ToxiproxyAPI, _ api: V1API) async throws(CommandFailure) {
        guard let config else { return }
        do throws(CommandFailure) {
            try await populate(toxiproxy, api, from: config)
        } catch {
            guard startsAnyway else { throw error }
            Console.error(lines: error.lines)
        }
    }

    private func populate(_ toxiproxy: ToxiproxyAPI, _ api: V1API, from path: String) async throws(CommandFailure) {
        let source: ProfileSource
        switch ProfileLibrary.readDocument(path, "list of proxies", isList: true) {
        case .success(let found): source = found
        case .failure(let error): throw .wrongInput("\(error.what) (\(error.remedy))")
        }
        if let problem = await toxiproxy.load(source.bytes, with: api) {
            throw .wrongInput("the proxies of “\(path)” can't be made: \(problem.trimmingPrefix("bad request body: "))")
        }
    }
}
