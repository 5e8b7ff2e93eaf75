import EventLoop
import FaultPlan
import FaultProfile
import OriginServer
import ProxyEngine
import TransferClient
import Units

/// One run of the demo: origin, proxy and client.
struct Demo {
    let profile: Profile
    let seed: UInt64
    let files: DemoFiles
    let format: EventFormat
    let loops: EventLoopGroup

    /// Runs and verifies one transfer after the other; stops on `interrupt` or the first failure.
    func run(_ transfers: [DemoTransfer], until interrupt: Interrupt) async throws(CommandFailure) {
        let origin: OriginServer
        do throws(OriginError) {
            let uploads = OriginConfiguration.Uploads(folder: files.uploads)
            origin = try await OriginServer.start(OriginConfiguration(folder: files.served, uploads: uploads))
        } catch {
            throw .failed(error.description)
        }
        // So that the time shown is the network's, without hashing the file before the first byte.
        await origin.remember(sha256: files.sentDigest, ofFile: DemoFiles.name)
        if format == .text {
            Console.print("\(profile.name): \(profile.summary)")
            Console.print("sending \(Formatting.size(files.size)) with seed \(seed)")
        }
        do throws(CommandFailure) {
            for (index, transfer) in transfers.enumerated() {
                if format == .text {
                    Console.print(lines: "\n\(transfer.rawValue)\(index > 0 ? ": the network starts anew" : "")")
                }
                try await run(transfer, from: origin, until: interrupt)
            }
        } catch {
            await origin.shutdown()
            throw error
        }
        await origin.shutdown()
        if format == .text, transfers.count > 1 {
            Console.print(lines: "\nproved: downloaded and uploaded, the file is the same byte for byte")
        }
    }

    /// Runs one transfer through a fresh proxy, so that its clock starts and its connections count from 1: each
    /// transfer sees all phases and faults of the profile.
    private func run(
        _ transfer: DemoTransfer,
        from origin: OriginServer,
        until interrupt: Interrupt
    ) async throws(CommandFailure) {
        let live = LiveLine()
        let story = DemoStory(started: MonotonicClock.now, live: live)
        let proxy = try await startProxy(to: origin, story)
        story.follow(proxy.schedule, names: profile.phases.map(\.name))
        let progress = TransferProgress()
        let ticker = Task { await tick(story, progress, live) }
        let client = DemoClient(files: files, format: format, seed: seed, story: story, progress: progress)
        let work = Task { await client.perform(transfer, at: "\(proxy.address)") }
        let watch = Task {
            await interrupt.wait()
            work.cancel()
        }
        let result = await work.value
        watch.cancel()
        ticker.cancel()
        await ticker.value
        live.clear()
        let statistics = await proxy.statistics()
        await proxy.stop()
        if let text = statistics.lateness { Console.warn(text) }
        try conclude(transfer, result, story, isTold: live.isOn)
    }

    private func startProxy(to origin: OriginServer, _ story: DemoStory) async throws(CommandFailure) -> Proxy {
        let configuration = ProxyConfiguration(
            name: "demo",
            listen: Endpoint(host: "127.0.0.1", port: 0),
            upstream: Endpoint(host: origin.address.host, port: UInt16(clamping: origin.address.port)),
            profile: profile,
            seed: seed
        )
        do {
            return try await Proxy.start(configuration, on: loops, journal: { story.record($0) })
        } catch {
            throw .failed(error.description)
        }
    }

    /// Draws the live line and reports phases until it is cancelled.
    private func tick(_ story: DemoStory, _ progress: TransferProgress, _ live: LiveLine) async {
        while !Task.isCancelled {
            let now = MonotonicClock.now
            let phase = story.phase(at: now).map { "[\($0)]   " } ?? ""
            let faults = story.faults
            live.draw(
                "\(Formatting.seconds(now - story.started))  \(phase)\(progress.text)   "
                    + "\(faults) fault\(faults == 1 ? "" : "s")"
            )
            try? await Task.sleep(for: .milliseconds(100))
        }
    }

    private func conclude(
        _ transfer: DemoTransfer,
        _ result: Result<DemoResult, DemoFailure>,
        _ story: DemoStory,
        isTold: Bool
    ) throws(CommandFailure) {
        // Not repeated if it was shown live.
        if format == .text, !isTold { Console.print(lines: DemoSummary.story(of: story)) }
        let done: DemoResult
        switch result {
        case .success(let result):
            done = result
        case .failure(.cancelled):
            throw .failed(
                "\(transfer.failure): the demo was interrupted, and another one starts from the beginning"
            )
        case .failure(.failed(let reason)):
            throw .failed("\(transfer.failure): \(reason)")
        }
        let received = try DemoFiles.digest(ofFile: transfer == .download ? files.received : files.uploaded)
        let isEqual = received == files.sentDigest && done.bytes == files.size
        switch format {
        case .text:
            Console.print(lines: DemoSummary.text(of: done, story, files: files, received: received))
        case .json:
            EventFormat.writeJSON(
                DemoVerdict(
                    equal: isEqual,
                    faults: story.faults,
                    received: received.hexadecimal,
                    resumedAt: story.resumptions,
                    seed: seed,
                    sent: files.sentDigest.hexadecimal,
                    transfer: transfer.rawValue
                )
            )
        }
        guard isEqual else {
            throw .failed("the file that arrived by \(transfer.rawValue) is not the file that was sent")
        }
        if transfer == .download { files.releaseReceived() }
    }
}

/// The final JSON line of a transfer in `squall demo --events json`.
private struct DemoVerdict: Encodable {
    var event = "proved"
    var equal: Bool
    var faults: Int
    var received: String
    var resumedAt: [Int64]
    var seed: UInt64
    var sent: String
    var transfer: String
}
