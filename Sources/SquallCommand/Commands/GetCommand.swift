import ArgumentParser
import CommandParsing
import Digests
import ProfileFiles
import SquallTransfer
import SystemPackage
import TerminalDisplay
import TransferReports
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

            A file that has the digest of --sha256 already isn't requested again. With --skip-complete that also goes for a \
            file of the server's length that isn't older than the server's, which has to tell its date; only a digest would \
            tell more.

            Example: squall get http://127.0.0.1:8081/file.bin --output file.bin
            """
    )

    @Argument(help: "An http:// or https:// URL.")
    var url: String

    @Option(
        name: [.short, .long],
        help: ArgumentHelp(
            "The file to write; without it the last part of the URL's path, decoded.",
            valueName: "file"
        ),
        completion: .file()
    )
    var output: String?

    @Flag(help: "Write to the name in the server's Content-Disposition; a file of that name isn't replaced.")
    var contentDisposition = false

    @Flag(help: "Request nothing but a HEAD when the file is there, as long as the server's and not older.")
    var skipComplete = false

    @Flag(help: "Store what the server sends when it codes the file (Content-Encoding), as a .tar.gz sent as gzip.")
    var storeCoded = false

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
        guard !skipComplete || !requireProof else {
            throw ValidationError("--skip-complete and --require-proof exclude each other: a length proves nothing")
        }
        guard output == nil || !contentDisposition else {
            throw ValidationError("--output and --content-disposition exclude each other")
        }
        if let sha256, [UInt8](hexadecimal: sha256)?.count != 32 {
            throw ValidationError("--sha256 takes 64 hexadecimal digits")
        }
    }

    func run() async throws {
        var destination = try destination()
        var request = TransferRequest(url)
        request.sha256 = sha256.flatMap { [UInt8](hexadecimal: $0) }
        request.requiresProof = requireProof
        request.storesCoded = storeCoded
        try credentials.apply(to: &request)
        var configuration = TransferConfiguration()
        configuration.maximumAttempts = attempts
        configuration.seed = seed
        configuration.tls = try tls.settings()
        try network.apply(to: &configuration)
        let run = try await TransferRun(events)
        let session = TransferSession(configuration: configuration)
        if contentDisposition || skipComplete {
            let file = await remoteFile(request, session, run)
            if contentDisposition, let name = file?.name {
                destination = try GetCommand.chosen(name, file, skipComplete)
                request.replacesFile = false
            }
            // A digest decides where there is one.
            if skipComplete, sha256 == nil, let file, file.isComplete(at: destination) {
                guard events == .text else { return EventFormat.writeJSON(TransferEventJSON(skipped: file.length)) }
                return Console.print(lines: "\(destination.description.visibleLine) is complete; nothing was fetched")
            }
        }
        run.show(&request)
        let result = try await run.result(of: session.download(for: request, to: destination.string))
        if events == .text {
            TransferRun.tellEnd(
                destination.description,
                result.bytes,
                result.duration,
                connections: result.connections,
                repeated: result.bytesRepeated,
                result.sha256,
                GetCommand.proof(result)
            )
        }
        guard let reason = result.unverifiedReason else { return }
        Console.warn("\(destination) is complete as far as HTTP can tell, and not proved: \(reason)")
    }

    /// What the server tells before the download; a failure is that of the download, which comes next.
    private func remoteFile(_ request: TransferRequest, _ session: TransferSession, _ run: TransferRun) async
        -> RemoteFile?
    {
        let attempts = min(attempts, 3)
        let asked = Task { try? await RemoteFile.ask(for: request, by: session, attempts: attempts) }
        let watch = Task {
            await run.interrupt.wait()
            asked.cancel()
        }
        defer { watch.cancel() }
        return await asked.value
    }

    /// The destination that the server named. It must not replace a file that the user didn't name.
    private static func chosen(_ name: String, _ file: RemoteFile?, _ skips: Bool) throws(CommandFailure) -> FilePath {
        let path = FilePath(name)
        guard (try? path.stat(followTargetSymlink: false)) != nil else { return path }
        guard skips, file?.isComplete(at: path) == true else {
            throw .wrongInput(
                "the server names the file “\(name.visibleLine)”, which exists: give --output FILE to replace it"
            )
        }
        return path
    }

    private static func proof(_ result: DownloadResult) -> String {
        guard let details = result.summary.download else { return "" }
        if details.verified.contains(.caller) { return "as expected" }
        if details.verified.contains(.server) { return "as the server says" }
        guard details.proof == .validators else { return "not proved" }
        let compared =
            details.bytesCompared > 0 ? ", and \(Formatting.grouped(details.bytesCompared)) bytes at joins" : ""
        return "no digest; tag and date agree in all responses\(compared)"
    }

    private func destination() throws(CommandFailure) -> FilePath {
        guard output != "-" else {
            throw .wrongInput("can't write to standard output; use ./- for a file of that name")
        }
        let path = if let output { output } else { try nameOfURL() }
        let inputs = InputFiles()
        inputs.note(tls.paths + [credentials.passwordFile, credentials.netrcFile])
        try inputs.check(writing: "the file", to: path)
        return FilePath(path)
    }

    private func nameOfURL() throws(CommandFailure) -> String {
        let name: String?
        do {
            name = try TransferRequest(url).fileName()
        } catch {
            if events == .json { EventFormat.writeJSON(TransferEventJSON(error)) }
            throw .wrongInput(error.sentence)
        }
        guard let name else { throw .wrongInput("the URL names no file to write to: give --output FILE") }
        return name
    }
}
