import Foundation
import TestStreams
import Testing

@testable import OperatingSystem

struct TemporaryFolderTests {
    @Test func `a marked folder that nobody holds is removed by the next one of its name, and no other`() throws {
        let folder = try Folder()
        for name in ["demo-left", "demo-mine", "other-left"] {
            try folder.makeFolder("\(name)/inner")
            try folder.write("x", to: "\(name)/inner/file")
        }
        for name in ["demo-left", "other-left"] { try folder.write("", to: "\(name)/\(TemporaryFolder.mark)") }
        let first = try TemporaryFolder(name: "demo", in: folder.path)
        let second = try TemporaryFolder(name: "demo", in: folder.path)
        let made = [first, second].map { URL(fileURLWithPath: $0.path).lastPathComponent }
        #expect(folder.names == (["demo-mine", "other-left"] + made).sorted())
        let facts = try FileManager.default.attributesOfItem(atPath: first.path)
        #expect(facts[.posixPermissions] as? Int == 0o700)
        first.remove()
        second.remove()
        #expect(folder.names == ["demo-mine", "other-left"])
    }

    @Test func `a folder isn't made where there is none`() throws {
        let folder = try Folder()
        let error = #expect(throws: SystemError.self) {
            _ = try TemporaryFolder(name: "demo", in: folder.file("missing"))
        }
        #expect(error?.call == "mkdtemp")
        #expect(folder.names.isEmpty)
    }
}
