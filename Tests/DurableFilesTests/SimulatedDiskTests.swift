import DurableFiles
import SimulatedDisk
import SystemPackage
import Testing

/// The guarantees of the simulated disk, which other tests rely on.
@Suite struct SimulatedDiskTests {
    /// The bytes at `/a` after `body` and a power cut, for each of 200 seeds; `nil` if the name is lost.
    private func outcomes(_ body: (SimulatedDisk, any OpenFile) throws -> Void) throws -> Set<[UInt8]?> {
        var seen: Set<[UInt8]?> = []
        for seed in UInt64(0)..<200 {
            let disk = SimulatedDisk(seed: seed)
            try body(disk, disk.open("/a", .creating))
            disk.restart(after: .power)
            let file = try? disk.open("/a", .reading)
            seen.insert(try file.map { try $0.read(100, at: 0) })
        }
        return seen
    }

    @Test func `synchronized bytes survive`() throws {
        let seen = try outcomes { disk, file in
            try file.write([1, 2, 3], at: 0)
            try file.synchronizeData()
            try disk.synchronizeFolder("/")
        }
        #expect(seen == [[1, 2, 3]])
    }

    @Test func `bytes that weren't synchronized are kept, torn, reordered or lost`() throws {
        let seen = try outcomes { disk, file in
            try disk.synchronizeFolder("/")
            try file.write([1, 2], at: 0)
            try file.write([3, 4], at: 2)
        }
        #expect(seen.isSuperset(of: [[], [1, 2], [1, 2, 3, 4], [0, 0, 3, 4], [1], [0, 2, 3, 4]]))
    }

    @Test func `a name that wasn't synchronized may be lost`() throws {
        let seen = try outcomes { _, file in
            try file.write([1], at: 0)
            try file.synchronizeData()
        }
        #expect(seen == [nil, [1]])
    }

    @Test func `bytes whose synchronization failed are never written, though they can be read`() throws {
        let seen = try outcomes { disk, file in
            try disk.synchronizeFolder("/")
            try file.write([1], at: 0)
            disk.setFaults(.init(failures: [disk.calls + 1: .ioError]))
            #expect(throws: FileError.self) { try file.synchronizeData() }
            #expect(throws: FileError.self) { try file.synchronizeData() }
            disk.setFaults(.init())
            #expect(try file.read(1, at: 0) == [1])
            try disk.open("/a", .existing).synchronizeData()
        }
        #expect(seen == [[]])
    }

    @Test func `a killed process loses nothing but its open files and its locks`() throws {
        let disk = SimulatedDisk(seed: 1)
        let file = try disk.open("/a", .creating)
        try file.write([1, 2], at: 0)
        try file.lock()
        disk.setFaults(.init(stop: 1))
        #expect(throws: FileError.self) { try disk.kind(of: "/a") }
        #expect(disk.isStopped)
        #expect(throws: FileError.self) { try disk.kind(of: "/a") }
        disk.restart(after: .process)
        #expect(throws: FileError.self) { try file.size() }
        let again = try disk.open("/a", .existing)
        #expect(try again.read(9, at: 0) == [1, 2])
        try again.lock()
    }
}
