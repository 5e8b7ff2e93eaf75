import Units

#if Control
    import ControlAPI
    import ControlServer
    import EventLoop
    import FaultProfile
    import ProxyEngine
#endif

/// Runs the control server and its proxies in the foreground until Ctrl-C.
struct ControlRunner {
    let host: String
    let port: Int
    /// The path of a list of proxies.
    let config: String?
    /// Whether problems of `config` are reported only.
    let startsAnyway: Bool
    /// The path of the file that keeps the state.
    let state: String?
    /// The path of the watched folder of profiles.
    let profiles: String?
    let seed: UInt64
    /// The start of every clock; `nil` for the start of each proxy.
    let clockStart: Moment?
    let isStrict: Bool
    let allowedHosts: [String]
    let token: String?
    /// The number of event loops; 0 for one per processor.
    let threads: Int

    /// Runs until a signal.
    func run() async throws(CommandFailure) {
        #if Control
            // The control server has a part of the descriptors that no proxy takes.
            let connections = min(ControlServer.connectionLimit, ProcessLimits.raiseOpenFiles() / 4)
            ProcessLimits.reserveOpenFiles(connections)
            let loops: EventLoopGroup
            let interrupt: Interrupt
            do throws(SystemError) {
                loops = try EventLoopGroup(count: threads)
                interrupt = try await Interrupt.watch(on: loops.loops[0])
            } catch {
                throw .failed("can't start the event loops: \(error)")
            }
            let warnings = Warnings()
            let journal = JournalHub()
            let proxies = ProxyManager(
                loops: loops,
                seed: seed,
                clockStart: clockStart,
                isStrict: isStrict,
                journal: journal
            ) { _, event in warnings.report(event) }
            let toxiproxy = ToxiproxyAPI(proxies: proxies, isStrict: isStrict)
            let store = ServedProfiles.store(folder: profiles) { journal.noteChange() }
            let api = V1API(proxies: proxies, profiles: store)
            let work = try await prepare(api, toxiproxy, journal)
            let handler = ControlHandler(
                requestGuard: RequestGuard(allowedHosts: allowedHosts, token: token),
                toxiproxy: toxiproxy,
                v1: api
            )
            let (host, seed) = (host, seed)
            do throws(ControlServer.Failure) {
                let server = ControlServer(handler, connectionLimit: connections) { code in
                    warnings.report(.cannotAccept(SystemError(call: "accept", code: code)))
                }
                try await server.run(host: host, port: port) { port in
                    let shown = host.contains(":") ? "[\(host)]" : host
                    Console.print("ready: http://\(shown):\(port) (Toxiproxy's API, seed \(seed))")
                } until: {
                    await interrupt.wait()
                    journal.stop()
                }
            } catch {
                await ControlRunner.end(work)
                await proxies.stop()
                throw error.commandFailure(host, port)
            }
            // Before the proxies stop, which would count as disabled.
            await ControlRunner.end(work)
            await proxies.stop()
            await loops.stop()
            warnings.finish()
        #else
            throw .wrongInput(
                "this build has no control server: build it with the trait Control, as `swift build` does by default"
            )
        #endif
    }

    #if Control
        /// Makes the profiles and proxies of the files; returns the tasks that follow and keep them.
        private func prepare(
            _ api: V1API,
            _ toxiproxy: ToxiproxyAPI,
            _ journal: JournalHub
        ) async throws(CommandFailure) -> [Task<Void, Never>] {
            let folder = profiles.map(ProfileFolder.init)
            let watch = try await folder?.load(api)
            let file = state.map(StateFile.init)
            let isRestored = try await file?.restore(to: api) ?? false
            if let config, !isRestored {
                do throws(CommandFailure) {
                    try await populate(toxiproxy, api, from: config)
                } catch {
                    guard startsAnyway else { throw error }
                    Console.error(lines: error.lines)
                }
            }
            var work: [Task<Void, Never>] = []
            if let folder, let watch { work.append(Task { await folder.follow(api, watch) }) }
            if let file { work.append(Task { await file.keep(api, journal) }) }
            return work
        }

        private static func end(_ work: [Task<Void, Never>]) async {
            for task in work {
                task.cancel()
                await task.value
            }
        }

        /// Makes the proxies of the file.
        private func populate(_ toxiproxy: ToxiproxyAPI, _ api: V1API, from path: String) async throws(CommandFailure) {
            let source: ProfileSource
            switch ProfileLibrary.read(path, "list of proxies") {
            case .success(let found): source = found
            case .failure(let error): throw .wrongInput("\(error.what) (\(error.remedy))")
            }
            if let problem = await toxiproxy.load(source.bytes, with: api) {
                throw .wrongInput("the proxies of “\(path)” can't be made: \(problem)")
            }
        }
    #endif
}

#if Control
    extension ControlServer.Failure {
        /// The failure of a command whose server was to listen on `host` and `port`.
        func commandFailure(_ host: String, _ port: Int) -> CommandFailure {
            .failed(
                isAddressInUse
                    ? "can't listen on \(host):\(port): the port is taken; stop what has it, or give --port"
                    : "can't listen on \(host):\(port): \(description)"
            )
        }
    }
#endif
