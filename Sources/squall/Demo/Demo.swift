import EventLoop
import FaultPlan
import FaultProfile
import OriginServer
import ProxyEngine
import SystemPackage
import TransferClient
import Units

/// One run of the demo: origin, proxy and client.
struct Demo {
    let profile: Profile
    let seed: UInt64
    let files: DemoFiles
    let format: EventFormat
    let loops: EventLoopGroup

    /// Runs it all and proves the result; ends early when `interrupt` comes.
    func run(until interrupt: Interrupt) async throws(CommandFailure) {
        let origin: OriginServer
        do throws(OriginError) {
            origin = try await OriginServer.start(OriginConfiguration(folder: files.served))
        } catch {
            throw .failed(error.description)
        }
        // What is shown is the time of the network, not that of reading the file before the first byte.
        await origin.remember(sha256: files.sentDigest, ofFile: DemoFiles.name)
        if format == .text {
            Console.print("\(profile.name): \(profile.summary)")
            Console.print("sending \(Formatting.size(files.size)) with seed \(seed)")
        }
        let live = LiveLine()
        let story = DemoStory(started: MonotonicClock.now, live: live)
        let proxy = try await startProxy(to: origin, story)
        story.follow(proxy.schedule, names: profile.phases.map(\.name))
        let progress = TransferProgress()
        let ticker = Task { await tick(story, progress, live) }
        let download = Task { await receive(through: proxy, story, progress) }
        let watch = Task {
            await interrupt.wait()
            download.cancel()
        }
        let result = await download.value
        watch.cancel()
        ticker.cancel()
        await ticker.value
        live.clear()
        let statistics = await proxy.statistics()
        await proxy.stop()
        await origin.shutdown()
        if let text = statistics.lateness { Console.warn(text) }
        try conclude(result, story, isTold: live.isOn)
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
            return try await Proxy.start(configuration, on: loops, journal: { story.tell($0) })
        } catch {
            throw .failed(error.description)
        }
    }

    private func receive(
        through proxy: Proxy,
        _ story: DemoStory,
        _ progress: TransferProgress
    ) async -> Result<DownloadSummary, DownloadError> {
        var configuration = TransferClientConfiguration()
        configuration.seed = seed
        let client = TransferClient(configuration: configuration)
        let request = DownloadRequest(url: "http://\(proxy.address)/\(DemoFiles.name)")
        do {
            let summary = try await client.download(request, to: FilePath(files.received)) { event in
                progress.note(event)
                story.tell(event)
                if format == .json { EventFormat.writeJSON(TransferReport(event)) }
            }
            return .success(summary)
        } catch {
            return .failure(error)
        }
    }

    /// Draws the live line and tells of the phases until it is cancelled.
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
        _ result: Result<DownloadSummary, DownloadError>,
        _ story: DemoStory,
        isTold: Bool
    ) throws(CommandFailure) {
        // Who watched it happen isn't told again.
        if format == .text, !isTold { Console.print(lines: DemoSummary.story(of: story)) }
        let summary: DownloadSummary
        switch result {
        case .success(let done):
            summary = done
        case .failure(.cancelled):
            throw .failed(
                "the file did not arrive: the demo was interrupted, and another one starts from the beginning"
            )
        case .failure(let error):
            throw .failed("the file did not arrive: \(error.reason)")
        }
        let received = try DemoFiles.digest(ofFile: files.received)
        let isEqual = received == files.sentDigest && summary.bytes == files.size
        switch format {
        case .text:
            Console.print(lines: DemoSummary.text(of: summary, story, files: files, received: received))
        case .json:
            EventFormat.writeJSON(
                DemoVerdict(
                    equal: isEqual,
                    faults: story.faults,
                    received: received.hexadecimal,
                    resumedAt: story.resumptions,
                    seed: seed,
                    sent: files.sentDigest.hexadecimal
                )
            )
        }
        guard isEqual else { throw .failed("the file that arrived is not the file that was sent") }
    }
}

/// The last line of `squall demo --events json`.
private struct DemoVerdict: Encodable {
    var event = "proved"
    var equal: Bool
    var faults: Int
    var received: String
    var resumedAt: [Int64]
    var seed: UInt64
    var sent: String
}
