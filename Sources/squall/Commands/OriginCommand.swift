import ArgumentParser
import EventLoop
import OriginServer

/// `squall origin`: an HTTP server whose files can be resumed.
struct OriginCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "origin",
        abstract: "Serve a folder over HTTP, with ranges, strong validators and digests, until Ctrl-C.",
        discussion: "Prints one ready line with the address, then a line for each request on a terminal."
    )

    @Argument(help: "The folder whose files are served.")
    var folder: String

    @Option(help: "The address or name to listen on.")
    var host = "127.0.0.1"

    @Option(help: "The port to listen on; 0 takes a free one.")
    var port = 0

    func run() async throws {
        ProcessLimits.raiseOpenFiles()
        let log = Console.isTerminal ? Console.Log() : nil
        var configuration = OriginConfiguration(folder: folder, host: host, port: port)
        if let log { configuration.onRequest = { log.write($0.description) } }
        let interrupt: Interrupt
        do throws(SystemError) {
            interrupt = try await Interrupt.watch(on: EventLoop())
        } catch {
            throw CommandFailure.failed("can't watch for signals: \(error)")
        }
        let server: OriginServer
        do throws(OriginError) {
            server = try await OriginServer.start(configuration)
        } catch {
            throw CommandFailure(code: error.code.isInput ? .wrongInput : .failed, message: error.description)
        }
        Console.print("ready: \(server.address.url) serves \(folder)")
        await interrupt.wait()
        await server.shutdown()
        log?.finish()
    }
}

extension OriginError.Code {
    /// Whether another command line would do, whatever the state of the machine.
    fileprivate var isInput: Bool {
        switch self {
        case .folderMissing, .notAFolder, .folderUnreadable, .invalidPort, .unknownHost: true
        case .addressInUse, .addressNotAvailable, .addressForbidden, .listenFailed: false
        }
    }
}
