import Foundation
import Glibc
import OperatingSystem
import TestStreams
import Testing

struct FileReplacementTests {
    /// Runs `body` in a folder that has a file with "before" in it.
    private func withFile(_ body: (_ folder: URL, _ file: URL) throws -> Void) throws {
        let folder = try Folder()
        try folder.write("before", to: "file")
        try body(folder.url, folder.url.appendingPathComponent("file"))
    }

    private func text(_ file: URL) throws -> String { try String(contentsOf: file, encoding: .utf8) }

    private func names(_ folder: URL) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    }

    @Test func `what is there stays until the new file is whole`() throws {
        try withFile { folder, file in
            let replacement = try FileReplacement(of: file.path)
            replacement.writer.write("after")
            replacement.writer.flush()
            #expect(try text(file) == "before")
            try replacement.commit()
            #expect(try text(file) == "after\n")
            #expect(try names(folder) == ["file"])
        }
    }

    @Test(arguments: [0o600, 0o644, 0o777])
    func `the permissions of what was there are kept`(permissions: Int) throws {
        try withFile { _, file in
            try FileManager.default.setAttributes([.posixPermissions: permissions], ofItemAtPath: file.path)
            let replacement = try FileReplacement(of: file.path)
            replacement.writer.write("after")
            try replacement.commit()
            let facts = try FileManager.default.attributesOfItem(atPath: file.path)
            #expect(facts[.posixPermissions] as? Int == permissions)
            #expect(try text(file) == "after\n")
        }
    }

    @Test func `what is there stays when there is no new file`() throws {
        try withFile { folder, file in
            let replacement = try FileReplacement(of: file.path)
            replacement.writer.write("after")
            replacement.writer.flush()
            replacement.discard()
            #expect(try text(file) == "before")
            #expect(try names(folder) == ["file"])
        }
    }

    @Test func `a file is written where a link leads, and one that wasn't there is made`() throws {
        try withFile { folder, file in
            let link = folder.appendingPathComponent("link")
            try FileManager.default.createSymbolicLink(at: link, withDestinationURL: file)
            for path in [link, folder.appendingPathComponent("new")].map(\.path) {
                let replacement = try FileReplacement(of: path)
                replacement.writer.write("after")
                try replacement.commit()
            }
            #expect(try text(file) == "after\n")
            #expect(try names(folder) == ["file", "link", "new"])
            #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link.path) == file.path)
        }
    }

    @Test func `what is no file is written itself, and isn't removed`() throws {
        try withFile { folder, _ in
            let pipe = folder.appendingPathComponent("pipe").path
            #expect(mkfifo(pipe, 0o600) == 0)
            let reader = open(pipe, O_RDWR | O_CLOEXEC)
            defer { close(reader) }
            let replacement = try FileReplacement(of: pipe)
            replacement.writer.write("after")
            try replacement.commit()
            replacement.discard()
            var bytes = [UInt8](repeating: 0, count: 100)
            let count = read(reader, &bytes, bytes.count)
            #expect(String(decoding: bytes.prefix(count), as: UTF8.self) == "after\n")
            #expect(try names(folder) == ["file", "pipe"])
            let full = try FileReplacement(of: "/dev/full")
            full.writer.write("after")
            #expect(throws: SystemError(call: "write", code: ENOSPC)) { try full.commit() }
        }
    }

    @Test func `what can't be begun is told: a folder, one in a file, one that another writes`() throws {
        try withFile { folder, file in
            for (path, code) in [(folder.path, EISDIR), (file.path + "/x", ENOTDIR)] {
                #expect(throws: SystemError(call: "open", code: code)) { try FileReplacement(of: path) }
            }
            let first = try FileReplacement(of: file.path)
            let error = #expect(throws: SystemError.self) { try FileReplacement(of: file.path) }
            #expect(error?.isLocked == true)
            first.discard()
        }
    }
}
