import Foundation
import Glibc
import SystemPackage
import TestStreams
import Testing
import TransferClient

/// Existing files at a destination.
@Suite(.timeLimit(.minutes(5))) struct DestinationTests {
    private static let resource = Resource(size: 50_000)

    private func type(of path: String) -> FileType? {
        try? FilePath(path).stat(followTargetSymlink: false).type
    }

    @Test(arguments: [false, true])
    func `a FIFO is left alone, also behind a link`(isLinked: Bool) async throws {
        let folder = try Folder()
        let fifo = folder.path + "/fifo"
        #expect(mkfifo(fifo, 0o600) == 0)
        let link = folder.path + "/link"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "fifo")
        try await Script { Self.resource.serve($0) }.serve { server in
            let path = isLinked ? link : fifo
            let done = await attempt(DownloadRequest(url: server.url()), to: FilePath(path))
            #expect(done.error?.disposition == .invalidInput)
            #expect(done.error?.description.contains("“\(path)”: it is a FIFO") == true)
            #expect(server.requests.isEmpty)
        }
        #expect(type(of: fifo) == .fifo)
        #expect(type(of: link) == .symbolicLink)
        #expect(folder.names == ["fifo", "link"])
    }

    @Test func `a file created meanwhile under a name of the server's is not replaced`() async throws {
        let folder = try Folder()
        try await Script { Self.resource.serve($0) }.serve { server in
            var request = DownloadRequest(url: server.url())
            request.replacesFile = false
            let done = await attempt(request, to: folder.destination) {
                $0.progressInterval = .zero
            } onEvent: { event in
                if case .progress = event { try? folder.write([1], at: folder.destination.string) }
            }
            #expect(done.error?.disposition == .invalidInput)
            #expect(done.error?.description.contains("it exists") == true)
            #expect(folder.file == [1])
            #expect(folder.bytes(folder.part) == Self.resource.content)
            request.replacesFile = true
            let again = await attempt(request, to: folder.destination)
            #expect(again.summary?.bytesRecovered == 50_000)
            #expect(folder.file == Self.resource.content)
        }
    }

    @Test(arguments: ["part", "journal"])
    func `a hard link under the name of a partial file or its journal is refused, and its file unchanged`(name: String)
        async throws
    {
        let folder = try Folder()
        let other = folder.path + "/other"
        try folder.write([1, 2, 3], at: other)
        let link = folder.path + "/.file.bin.squall-\(name)"
        try FileManager.default.linkItem(atPath: other, toPath: link)
        let done = await attempt(DownloadRequest(url: "http://127.0.0.1:1/"), to: folder.destination)
        #expect(done.error == .invalidFile(link, "it has another name (a hard link); remove it"))
        #expect(folder.bytes(other) == [1, 2, 3])
    }

    @Test(arguments: [(235, nil), (236, "choose a shorter one"), (256, "File name too long")])
    func `a name that leaves no room for those of the partial file is refused at the start`(
        length: Int,
        problem: String?
    ) async throws {
        let folder = try Folder()
        let destination = FilePath(folder.path).appending(String(repeating: "n", count: length))
        try await Script { Self.resource.serve($0, interruptedAfter: 20_000) }.serve { server in
            let done = await attempt(DownloadRequest(url: server.url()), to: destination) {
                $0.retry.maximumAttempts = 2
            }
            #expect(server.requests.isEmpty == (problem != nil))
            #expect(done.error.map(\.disposition) == problem.map { _ in .invalidInput })
            #expect(problem.map { done.error?.description.contains($0) == true } ?? true)
        }
    }

    @Test func `a file created meanwhile at the destination is not replaced`() async throws {
        let folder = try Folder()
        try await Script { Self.resource.serve($0) }.serve { server in
            let done = await attempt(DownloadRequest(url: server.url()), to: folder.destination) {
                $0.progressInterval = .zero
            } onEvent: { event in
                if case .progress = event { _ = mkfifo(folder.destination.string, 0o600) }
            }
            #expect(done.error?.description.contains("it is a FIFO") == true)
            #expect(type(of: folder.destination.string) == .fifo)
            #expect(unlink(folder.destination.string) == 0)
            let again = await attempt(DownloadRequest(url: server.url()), to: folder.destination)
            #expect(again.summary?.bytesRecovered == 50_000)
            #expect(folder.file == Self.resource.content)
        }
    }

    /// Links in one folder to a file in another, which exists or not.
    @Test(arguments: [false, true])
    func `a link stays, and its target is written`(isThere: Bool) async throws {
        let folder = try Folder()
        let other = try Folder()
        if isThere { try other.write([1, 2, 3], at: other.destination.string) }
        let link = folder.path + "/link"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "second")
        try FileManager.default.createSymbolicLink(
            atPath: folder.path + "/second",
            withDestinationPath: other.destination.string
        )
        try await Script {
            Self.resource.serve($0, interruptedAfter: 20_000)
        }.serve { server in
            _ = await attempt(DownloadRequest(url: server.url()), to: FilePath(link)) { $0.retry.maximumAttempts = 1 }
            #expect(other.bytes(other.part)?.count == 20_000, "the partial file lies beside the file, not the link")
            let done = await attempt(DownloadRequest(url: server.url()), to: FilePath(link))
            #expect(done.summary?.bytesRecovered == 20_000)
        }
        #expect(other.file == Self.resource.content)
        #expect(other.names == ["file.bin"])
        #expect(type(of: link) == .symbolicLink)
        #expect(folder.names == ["link", "second"])
    }

    @Test(arguments: ["link", "..", "none/file"])
    func `a link to itself, to a folder or into none is the caller's mistake`(target: String) async throws {
        let folder = try Folder()
        let link = folder.path + "/link"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: target)
        let done = await attempt(DownloadRequest(url: "http://127.0.0.1:1/"), to: FilePath(link))
        #expect(done.error?.disposition == .invalidInput)
        #expect(type(of: link) == .symbolicLink)
        #expect(folder.names == ["link"])
    }

    @Test(arguments: [true, false])
    func `another file under the name of the partial file is never used as the download`(isThere: Bool) async throws {
        let folder = try Folder()
        let (done, _, _) = try await download(into: folder) {
            Self.resource.serve($0)
        } configure: {
            $0.progressInterval = .zero
        } onEvent: { event in
            guard case .progress = event else { return }
            try? FileManager.default.removeItem(atPath: folder.part)
            if isThere { try? folder.write([1, 2, 3], at: folder.part) }
        }
        #expect(done.error?.disposition == .invalidInput)
        #expect(folder.file == nil)
        #expect(folder.bytes(folder.part) == (isThere ? [1, 2, 3] : nil))
    }

    @Test func `the permissions of a file that is replaced stay, but not that it runs as its owner`() async throws {
        let folder = try Folder()
        try folder.write([1], at: folder.destination.string)
        #expect(chmod(folder.destination.string, 0o6640) == 0)
        let (done, _, _) = try await download(into: folder) { Self.resource.serve($0) }
        #expect(done.summary != nil)
        let permissions = try folder.destination.stat().permissions
        #expect(permissions.rawValue == 0o640)
    }
}
