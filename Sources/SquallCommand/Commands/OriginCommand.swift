import ArgumentParser
import CommandParsing
import HTTPTransport
import OperatingSystem
import OriginServer
import ProxyRuntime
import ResumableUploads
import Synchronization
import TerminalDisplay
import Units

/// `squall origin`: an HTTP server for resumable transfers.
struct OriginCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "origin",
        abstract: "Serve a folder over HTTP, with ranges, strong validators and digests, until Ctrl-C.",
        discussion: """
            Prints one ready line with the address, then a line for each request on a terminal.

            With --tls-self-signed it makes a certificate authority of its own for this run, and prints the path of its \
            certificate, for squall get --ca-file or curl --cacert.
            """
    )

    @Argument(help: "The folder whose files are served.", completion: .directory)
    var folder: String

    @Option(help: "The address or name to listen on.")
    var host = "127.0.0.1"

    @Option(help: "The port to listen on; 0 takes a free one.")
    var port = 0

    @Option(
        help: ArgumentHelp(
            "Take uploads by PUT and POST, resumable ones too, and put complete files in this folder.",
            valueName: "folder"
        ),
        completion: .directory
    )
    var uploads: String?

    @Option(
        help: ArgumentHelp("The largest file that is taken, such as 500MB. (default: 16 GiB)", valueName: "size"),
        transform: ArgumentReading.size
    )
    var uploadLimit: ByteCount?

    @Option(
        help: ArgumentHelp(
            "Speak TLS with the certificate of this PEM file, followed by those of its issuers, if any.",
            valueName: "file"
        ),
        completion: .file()
    )
    var tlsCert: String?

    @Option(
        help: ArgumentHelp("A PEM file with the private key of --tls-cert.", valueName: "file"),
        completion: .file()
    )
    var tlsKey: String?

    @Flag(help: "Speak TLS with a certificate for this machine that is made anew.")
    var tlsSelfSigned = false

    @OptionGroup var background: DetachOptions

    func validate() throws {
        try PEMFiles.check("--tls", tlsCert, tlsKey)
        guard tlsCert == nil || !tlsSelfSigned else {
            throw ValidationError("--tls-self-signed makes a certificate, so --tls-cert isn't given")
        }
        guard let uploadLimit else { return }
        guard uploads != nil else { throw ValidationError("--upload-limit needs --uploads") }
        guard (1...OriginCommand.largestUpload).contains(uploadLimit.bytes) else {
            throw ValidationError("--upload-limit is from 1B to 900TB")
        }
    }

    /// Structured fields limit sizes to 15 digits.
    private static let largestUpload: Int64 = 900_000_000_000_000

    func run() async throws {
        if try background.hasStarted("origin") { return }
        let openFiles = ProcessLimits.raiseOpenFiles()
        let log = Console.isTerminal ? Console.Log() : nil
        var configuration = OriginConfiguration(folder: folder, host: host, port: port)
        if let uploads {
            var policy = UploadPolicy()
            if let uploadLimit { policy.maximumSize = uploadLimit.bytes }
            configuration.uploads = .init(folder: uploads, policy: policy)
        }
        configuration.tls = try PEMFiles("--tls", tlsCert, tlsKey)?.server()
        if let log { configuration.onRequest = { log.write($0.description) } }
        let interrupt = try await Interrupt.watch()
        // A signal that ends the command removes the file, so it is made when signals are watched.
        let authority = tlsSelfSigned ? try AuthorityFile(for: host) : nil
        defer { authority?.remove() }
        if let authority { configuration.tls = authority.server }
        configuration.limitDescriptors(to: openFiles - OpenFiles.withoutConnections)
        let hasWarned = Atomic(false)
        configuration.onPause = {
            guard !hasWarned.exchange(true, ordering: .relaxed) else { return }
            Console.warn("further connections wait until others end: the limit of open files is \(openFiles)")
        }
        let server: OriginServer
        do throws(OriginError) {
            server = try await OriginServer.start(configuration)
        } catch {
            throw CommandFailure(code: error.code.isInput ? .wrongInput : .failed, message: error.description)
        }
        let taking = uploads.map { ", takes uploads into \($0)" } ?? ""
        if let authority {
            Console.print("trust: \(authority.path) is the certificate of the authority, until this ends")
        }
        Console.print("ready: \(server.address.url) serves \(folder)\(taking)")
        DetachedProgram.tellReady()
        await interrupt.wait()
        await server.shutdown()
        log?.finish()
    }
}

extension OriginConfiguration {
    /// Accepts as many connections as `descriptors` suffice for. A request needs 3 besides its connection: two files of an
    /// upload and one that replaces another, or a file that is opened by its handle.
    fileprivate mutating func limitDescriptors(to descriptors: Int) {
        let requests = tls == nil ? 1 : max(1, min(limits.concurrentRequests, (descriptors - 1) / 3))
        limits.concurrentRequests = requests
        limits.acceptedConnections = max(1, descriptors / (1 + 3 * requests))
    }
}

extension OriginError.Code {
    /// Whether another command line would help, regardless of the machine's state.
    fileprivate var isInput: Bool {
        switch self {
        case .folderMissing, .notAFolder, .folderUnreadable, .uploadsFolderHidden, .invalidPort, .unknownHost:
            true
        case .uploadsFolderInUse, .uploadsFolderUnusable: false
        case .addressInUse, .addressNotAvailable, .addressForbidden, .listenFailed: false
        }
    }
}
