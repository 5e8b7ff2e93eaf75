import DurableFiles
import SimulatedDisk
import SystemPackage
import Testing

@Suite struct MakeFoldersTests {
    private let folder = FilePath("/a/b/c")

    private func calls() throws -> Int {
        let disk = SimulatedDisk(seed: 0)
        try disk.makeFolders(folder)
        return disk.calls
    }

    @Test func `folders made after a kill at any call survive a power cut`() throws {
        for stop in 1...(try calls()) {
            for seed in 0..<50 as Range<UInt64> {
                let disk = SimulatedDisk(seed: seed, faults: .init(stop: stop))
                #expect(throws: FileError.self) { try disk.makeFolders(folder) }
                disk.restart(after: .process)
                try disk.makeFolders(folder)
                disk.restart(after: .power)
                #expect(try disk.kind(of: folder) == .folder, "stopped at call \(stop), seed \(seed)")
            }
        }
    }

    @Test func `existing folders are left as they are`() throws {
        let disk = SimulatedDisk(seed: 0)
        try disk.makeFolders(folder)
        try disk.open(folder.appending("file"), .creating).close()
        try disk.makeFolders(folder)
        #expect(try disk.names(in: folder) == ["file"])
    }
}
