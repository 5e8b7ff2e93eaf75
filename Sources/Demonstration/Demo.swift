import CommandParsing
import EventLoop
import FaultPlan
import FaultProfile
import OperatingSystem
import OriginServer
import ProfileFiles
import ProxyEngine
import ProxyRuntime
import TerminalDisplay
import TransferClient
import TransferReports
import Units

/// One run of the demo: origin, proxy and client.
struct Demo {
    let profile: Profile
    let seed: UInt64
    let files: DemoFiles
    let format: EventFormat
    let network: any DemoNetwork
    /// The expected time of a transfer, and the pace of its client on a terminal.
    let sizes: DemoSizes
    /// The time in which the end of a transfer can be read, where the transfers go on.
    private static let pause = Duration.seconds(5)

    /// The output: wrapped and colored if standard output and standard error are one terminal.
    private let output = DemoOutput()

    init(
        profile: Profile,
        seed: UInt64,
        files: DemoFiles,
        format: EventFormat,
        network: any DemoNetwork,
        sizes: DemoSizes
    ) {
        self.profile = profile
        self.seed = seed
        self.files = files
        self.format = format
        self.network = network
        self.sizes = sizes
    }

    /// Runs and verifies one transfer after the other; stops on `interrupt` or the first failure. On a network that repeats,
    /// only a file that differs is a failure.
    func run(_ transfers: [DemoTransfer], until interrupt: Interrupt) async throws(CommandFailure) {
        let origin: OriginServer
        do throws(OriginError) {
            let uploads = OriginConfiguration.Uploads(folder: files.uploads)
            origin = try await OriginServer.start(OriginConfiguration(folder: files.served, uploads: uploads))
        } catch {
            throw .failed(error.description)
        }
        // So that the time shown is the network's, without hashing the file before the first byte.
        await origin.remember(sha256: files.downloaded.digest, ofFile: DemoFiles.name)
        if format == .text {
            output.show("\(profile.name): \(profile.summary)")
            let sizes = transfers.map { Formatting.size(files.sent(by: $0).size) }
            let isOne = Set(sizes).count == 1
            output.show("sending \(isOne ? sizes[0] : sizes.joined(separator: ", then ") + ",") with seed \(seed)")
        }
        do throws(CommandFailure) {
            var isFirst = true
            repeat {
                for transfer in transfers where !interrupt.hasCome || !network.repeats {
                    if format == .text {
                        Console.print(lines: "\n\(transfer.rawValue)\(isFirst ? "" : ": the network starts anew")")
                    }
                    isFirst = false
                    try await run(transfer, from: origin, until: interrupt)
                    if network.repeats { await interrupt.cancelling { try? await Task.sleep(for: Demo.pause) } }
                }
            } while network.repeats && !interrupt.hasCome
        } catch {
            await origin.shutdown()
            throw output.fitted(error)
        }
        await origin.shutdown()
        if format == .text, transfers.count > 1, !network.repeats {
            output.show("", isProof: false)
            output.show("proved: downloaded and uploaded, the file is the same byte for byte", isProof: true)
        }
    }

    /// Runs one transfer through a fresh proxy, so that its clock starts and its connections count from 1: each
    /// transfer sees all phases and faults of the profile.
    private func run(
        _ transfer: DemoTransfer,
        from origin: OriginServer,
        until interrupt: Interrupt
    ) async throws(CommandFailure) {
        let (network, size) = (network, sizes[transfer])
        let live = LiveLine(isOn: Console.isTerminal && (format == .text || !Terminal.isShared))
        let display = DemoDisplay(transfer, size, live: live)
        let story = DemoStory(started: MonotonicClock.now, live: live) { phase, sentence in
            let place = [transfer.rawValue, phase].compactMap { $0 }.joined(separator: ", ")
            network.tell(sentence.isEmpty ? place : "\(place): \(sentence)")
        }
        let bytes = Formatting.size(files.sent(by: transfer).size)
        network.tell("\(transfer.rawValue): \(bytes) through \(profile.name), \(profile.summary)")
        files.prepare(transfer)
        let upstream = Endpoint(host: origin.address.host, port: UInt16(clamping: origin.address.port))
        let address = try await network.begin(to: upstream, story)
        let progress = TransferProgress()
        let ticker = Task { await tick(transfer, story, progress, display) }
        var client = DemoClient(files: files, format: format, seed: seed, story: story, progress: progress)
        client.isPatient = network.repeats
        if live.isOn, !network.repeats { client.pace = size.pace }
        let result = await interrupt.cancelling { [client] in await client.perform(transfer, at: address) }
        let end = MonotonicClock.now - story.started
        ticker.cancel()
        await ticker.value
        live.clear()
        let statistics = await network.end()
        if let text = statistics.lateness { output.warn(text) }
        do throws(CommandFailure) {
            if format == .text {
                if live.isOn, output.isTerminal { output.show(drawing: display.finalChart(at: end)) }
                // Not repeated if it was shown live at the same place.
                if !live.isOn || !output.isTerminal { Console.print(lines: DemoSummary.story(of: story)) }
            }
            let caption = try conclude(transfer, result, story, progress.snapshot)
            network.show(progress.snapshot, of: transfer, .done)
            network.tell("\(transfer.rawValue): \(caption)")
        } catch {
            network.show(progress.snapshot, of: transfer, .failed)
            network.tell(error.message)
            guard network.repeats, case .failure = result else { throw error }
            Console.warn(lines: output.fitted(error).lines)
        }
    }

    /// Draws the transfer and reports phases until it is cancelled.
    private func tick(
        _ transfer: DemoTransfer,
        _ story: DemoStory,
        _ progress: TransferProgress,
        _ display: DemoDisplay
    ) async {
        while true {
            network.followPhases(until: MonotonicClock.now, story)
            let snapshot = progress.snapshot
            network.show(snapshot, of: transfer, .running)
            if display.live.isOn {
                let passed = await network.passed(transfer) ?? snapshot.bytes
                display.draw(story, snapshot, passed: passed, at: MonotonicClock.now - story.started)
            }
            if Task.isCancelled { return }
            try? await Task.sleep(for: DemoDisplay.interval)
        }
    }

    /// Prints the outcome; returns its caption.
    private func conclude(
        _ transfer: DemoTransfer,
        _ result: Result<TransferSummary, TransferError>,
        _ story: DemoStory,
        _ progress: ProgressSnapshot
    ) throws(CommandFailure) -> String {
        let done: TransferSummary
        switch result {
        case .success(let summary):
            done = summary
        case .failure(.cancelled):
            let size = files.sent(by: transfer).size
            throw .failed(
                "the \(transfer.rawValue) was interrupted after \(NearestText.size(progress.bytes)) of "
                    + "\(NearestText.size(size)), and another demo starts from the beginning"
            )
        case .failure(let error):
            // Without advice to resume: another demo starts from the beginning.
            throw .failed("\(transfer.failure): \(error)")
        }
        let received = try FileDigest.sha256(ofFile: transfer == .download ? files.received : files.uploaded)
        let sent = files.sent(by: transfer)
        let isEqual = received == sent.digest && done.bytes == sent.size
        switch format {
        case .text:
            let summary = DemoSummary(
                result: done,
                faults: story.events,
                resumptions: story.resumptions,
                sent: sent.digest.hexadecimal,
                received: received.hexadecimal,
                isEqual: isEqual
            )
            output.show(summary)
        case .json:
            EventFormat.writeJSON(
                DemoVerdict(
                    equal: isEqual,
                    faults: story.faults,
                    received: received.hexadecimal,
                    resumedAt: story.resumptions,
                    seed: seed,
                    sent: sent.digest.hexadecimal,
                    transfer: transfer.rawValue
                )
            )
        }
        guard isEqual else {
            throw .failed("the file that arrived by \(transfer.rawValue) is not the file that was sent")
        }
        if transfer == .download { files.releaseReceived() }
        return DemoSummary.caption(of: done, story, received: received)
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
