import Digests
import FoundationEssentials
import OperatingSystem
import ProfileFiles
import SystemPackage
import TerminalDisplay
import Units

/// The file that the demo sends, and the folder with its copies.
struct DemoFiles {
    /// The name of the served file.
    static let name = "file.bin"
    /// The name of the file to upload, if it isn't the served one.
    static let otherName = "upload.bin"
    private static let blockSize = 1 << 20

    /// The served folder.
    let served: String
    /// The served file.
    let downloaded: File
    /// The file to upload: the served one, or a longer or shorter one that begins alike.
    let sent: File
    /// The destination of the download.
    let received: String
    /// The origin's upload folder.
    let uploads: String
    /// The uploaded file.
    let uploaded: String
    /// The client's state folder.
    let state: String
    private let folder: URL
    /// The folder, if its files aren't kept.
    private let temporary: TemporaryFolder?

    /// A file that is sent.
    struct File {
        let path: String
        let size: Int64
        /// Its SHA-256 when it was written.
        let digest: [UInt8]
    }

    /// Writes a file of `download` bytes, and another one of `upload` bytes if that differs. Their content depends only on
    /// `seed`.
    init(download: Int64, upload: Int64, seed: UInt64, keptIn keep: String?) throws(CommandFailure) {
        if let keep {
            (temporary, folder) = (nil, URL(fileURLWithPath: keep))
        } else {
            let made = try TemporaryFolder.made("squall-demo")
            (temporary, folder) = (made, URL(fileURLWithPath: made.path))
        }
        let source = folder.appendingPathComponent("sent")
        served = source.path
        received = folder.appendingPathComponent("received.bin").path
        let work = folder.appendingPathComponent(DemoFolder.work)
        uploads = work.appendingPathComponent("uploads").path
        uploaded = work.appendingPathComponent("uploads/\(DemoFiles.name)").path
        state = work.appendingPathComponent("state").path
        if temporary == nil { try DemoFolder.prepare(FilePath(folder.path)) }
        do {
            try FileManager.default.createDirectory(at: source, withIntermediateDirectories: true)
            try FileManager.default.createDirectory(atPath: uploads, withIntermediateDirectories: true)
            downloaded = try DemoFiles.write(to: source.appendingPathComponent(DemoFiles.name), download, seed)
            let other = source.appendingPathComponent(DemoFiles.otherName)
            sent = download == upload ? downloaded : try DemoFiles.write(to: other, upload, seed)
        } catch {
            DemoFiles.remove(folder, temporary)
            throw .failed("can't write the demo's file in \(folder.path): \(FileProblem.reason(error))")
        }
    }

    /// The file that `transfer` sends.
    func sent(by transfer: DemoTransfer) -> File { transfer == .download ? downloaded : sent }

    /// Removes what an earlier transfer of the demo has left.
    func prepare(_ transfer: DemoTransfer) {
        try? FileManager.default.removeItem(atPath: transfer == .download ? received : uploaded)
    }

    /// Removes the received file after the comparison, unless it is kept.
    func releaseReceived() {
        if temporary != nil { try? FileManager.default.removeItem(atPath: received) }
    }

    /// Removes the folder, or everything but the kept files.
    func remove() { DemoFiles.remove(folder, temporary) }

    private static func remove(_ folder: URL, _ temporary: TemporaryFolder?) {
        if let temporary { return temporary.remove() }
        let work = folder.appendingPathComponent(DemoFolder.work)
        let uploaded = work.appendingPathComponent("uploads/\(name)")
        try? FileManager.default.moveItem(at: uploaded, to: folder.appendingPathComponent(DemoFolder.uploaded))
        try? FileManager.default.removeItem(at: work)
    }

    private static func write(to url: URL, _ size: Int64, _ seed: UInt64) throws -> File {
        let file = try FileDescriptor.open(
            FilePath(url.path),
            .writeOnly,
            options: [.create, .truncate, .closeOnExec],
            permissions: [.ownerReadWrite, .groupReadWrite, .otherReadWrite]
        )
        defer { try? file.close() }
        var generator = SeededGenerator(seed: seed)
        var hash = SHA256()
        var remaining = size
        while remaining > 0 {
            let block = generator.nextBytes(Int(min(remaining, Int64(blockSize))))
            hash.update(block)
            try file.writeAll(block)
            remaining -= Int64(block.count)
        }
        return File(path: url.path, size: size, digest: hash.finalize())
    }
}
