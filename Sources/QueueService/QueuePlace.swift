import FoundationEssentials
import ProfileFiles
import SystemPackage
import TerminalDisplay
import TransferQueue

/// The folder of a queue of this user, with its log, its socket and its daemon's log.
struct QueuePlace: Sendable {
    let name: String
    let folder: String
    let socket: QueueSocket

    init(_ name: String) throws(CommandFailure) {
        self.name = name
        folder = try CommandFailure.attempting("the queue \(name.quoted)", code: .wrongInput) {
            try TransferQueue.folder(name, TransferQueueConfiguration())
        }
        do throws(TransferQueueError) {
            socket = try QueueSocket(folder: folder)
        } catch {
            throw .wrongInput(error.message)
        }
    }

    var log: String { folder + "/daemon.log" }
    /// What the daemon's process writes to its outputs, such as the message of a crash.
    var output: String { folder + "/daemon.out" }

    /// Makes the folder.
    func makeFolder() throws(CommandFailure) {
        try CommandFailure.attempting("can't make the folder of the queue") { try TransferQueue.makeFolder(folder) }
    }
}
