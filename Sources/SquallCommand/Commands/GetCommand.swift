import ArgumentParser
import EventLoop
import SystemPackage
import TransferClient
import TransferProtocol
import Units

/// `squall get`: the resumable download.
struct GetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "get",
        abstract: "Download a file over HTTP through any number of broken connections, and tell what proves it.",
        discussion: """
            What was received stays beside the destination until the file is complete, also when the program is \
            killed; the same command goes on from there. Exits with 75 when it gave up for now. A file that neither a \
            digest nor two validators prove is complete as far as HTTP can tell: a warning says so, and with \
            --require-proof it is a failure.

            Credentials go to the server of the URL alone, not to one that it redirects to, and are never shown or kept. A \
            server that refuses them is exit code 1; what was received stays for a run with others. \
            An untrusted server certificate also exits with 1.

            Example: squall get http://127.0.0.1:8081/file.bin --output file.bin
            """
    )

    @Argument(help: "An http:// or https:// URL.")
    var url: String

    @Option(
        name: [.short, .long],
        help: ArgumentHelp("The file to write; without it the last part of the URL's path.", valueName: "file")
    )
    var output: String?

    @Option(help: ArgumentHelp("The SHA-256 that the file must have.", valueName: "hex"))
    var sha256: String?

    @Flag(help: "Fail when the complete file isn't proved: by a digest, or by two validators in all responses.")
    var requireProof = false

    @OptionGroup var credentials: CredentialOptions

    @OptionGroup var tls: TLSOptions

    @OptionGroup var network: NetworkOptions

    @Option(help: ArgumentHelp("Attempts in a row without progress before it gives up.", valueName: "count"))
    var attempts = 10

    @Option(help: "The seed of the waits between attempts.")
    var seed: UInt64?

    @Option(help: ArgumentHelp("How events are told.", valueName: "format"))
    var events = EventFormat.text

    func validate() throws {
        guard attempts > 0 else { throw ValidationError("--attempts is at least 1") }
        if let sha256, GetCommand.bytes(ofHexadecimal: sha256)?.count != 32 {
            throw ValidationError("--sha256 takes 64 hexadecimal digits")
        }
    }

    func run() async throws {
        let destination = try destination()
        let request = DownloadRequest(
            url: url,
            expectedSHA256: sha256.flatMap(GetCommand.bytes),
            requiresProof: requireProof,
            credentials: try credentials.credentials()
        )
        var configuration = TransferClientConfiguration()
        configuration.retry.maximumAttempts = attempts
        if let seed { configuration.seed = seed }
        configuration.tls = try tls.client()
        try network.apply(to: &configuration)
        let interrupt: Interrupt
        do throws(SystemError) {
            interrupt = try await Interrupt.watch(on: EventLoop())
        } catch {
            throw CommandFailure.failed("can't watch for signals: \(error)")
        }
        let client = TransferClient(configuration: configuration)
        let live = LiveProgress()
        let format = events
        let download = Task { () async -> Result<DownloadSummary, DownloadError> in
            do throws(DownloadError) {
                let summary = try await client.download(request, to: destination) { event in
                    switch format {
                    case .json: EventFormat.writeJSON(TransferReport(event))
                    case .text: live.note(event)
                    }
                }
                return .success(summary)
            } catch {
                return .failure(error)
            }
        }
        Task {
            await interrupt.wait()
            download.cancel()
        }
        let result = format == .text ? await live.follow(download) : await download.value
        try report(result, destination)
    }

    private func report(_ result: Result<DownloadSummary, DownloadError>, _ destination: FilePath)
        throws(CommandFailure)
    {
        switch result {
        case .success(let summary):
            defer { GetCommand.warn(of: summary, destination) }
            guard events == .text else { return }
            let repeated = summary.bytesRepeated
            Console.print(
                lines: """
                    \(destination.description.visibleLine): \(Formatting.grouped(summary.bytes)) bytes in \
                    \(Formatting.seconds(summary.duration).trimmingPrefix { $0 == " " }), \
                    \(summary.connections) connection\(summary.connections == 1 ? "" : "s"), \
                    \(Formatting.grouped(repeated)) bytes sent twice (\(Formatting.percent(repeated, of: summary.bytes)))
                    sha256 \(summary.sha256.hexadecimal) (\(GetCommand.proof(summary)))
                    """
            )
        case .failure(let error):
            if events == .json { EventFormat.writeJSON(TransferReport(error)) }
            throw CommandFailure(code: GetCommand.status(of: error), message: error.sentence)
        }
    }

    private static func proof(_ summary: DownloadSummary) -> String {
        if summary.verified.contains(.caller) { return "as expected" }
        if summary.verified.contains(.server) { return "as the server says" }
        return summary.proof == .validators ? "no digest; both validators agree" : "not proved"
    }

    /// Warns on standard error that the file is unverified.
    private static func warn(of summary: DownloadSummary, _ destination: FilePath) {
        guard let unverifiedReason = summary.proof.unverifiedReason else { return }
        Console.warn(
            "\(destination) is complete as far as HTTP can tell, and not proved: \(unverifiedReason.description)"
        )
    }

    private static func status(of error: DownloadError) -> ExitStatus {
        switch error.disposition {
        case .resumable: .resumable
        case .final: .failed
        case .invalidInput: .wrongInput
        }
    }

    private func destination() throws(CommandFailure) -> FilePath {
        if let output {
            guard output != "-" else {
                throw .wrongInput("can't write to standard output; use ./- for a file of that name")
            }
            return FilePath(output)
        }
        let parsed: DownloadURL
        do throws(DownloadURLProblem) {
            parsed = try DownloadURL(url)
        } catch {
            let error = DownloadError.invalidURL(url, error)
            if events == .json { EventFormat.writeJSON(TransferReport(error)) }
            throw .wrongInput(error.sentence)
        }
        guard let name = FilePath(parsed.path).lastComponent, name.kind == .regular else {
            throw .wrongInput("the URL names no file to write to: give --output FILE")
        }
        return FilePath(name.string)
    }

    private static func bytes(ofHexadecimal text: String) -> [UInt8]? {
        guard text.utf8.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        var rest = text[...]
        while !rest.isEmpty {
            guard let byte = UInt8(rest.prefix(2), radix: 16), rest.first != "+", rest.first != "-" else { return nil }
            bytes.append(byte)
            rest = rest.dropFirst(2)
        }
        return bytes
    }
}
