import DurableFiles
import SimulatedDisk
import SystemPackage
import Testing
import Units

/// The format of a log, and a log on a disk that loses unsynced data.
@Suite struct RecordLogTests {
    private static let format = RecordLog(magic: "TestLog1", version: 2)
    private static let records = (1...5).map {
        RecordLog.Record(kind: UInt8($0), payload: Array(repeating: UInt8($0), count: $0 * 7))
    }

    @Test func `records are read as they were written`() throws {
        let contents = try RecordLogTests.format.read(RecordLogTests.format.encoded(RecordLogTests.records))
        #expect(contents.records == RecordLogTests.records)
    }

    @Test func `a log that is cut off anywhere keeps its complete records`() throws {
        let format = RecordLogTests.format
        let bytes = format.encoded(RecordLogTests.records)
        for count in format.header.count...bytes.count {
            let contents = try format.read(Array(bytes.prefix(count)))
            #expect(RecordLogTests.records.starts(with: contents.records))
            #expect(contents.validLength == format.encoded(contents.records).count)
            #expect(contents.validLength <= count)
        }
    }

    @Test func `any byte that changes in the last record loses that record, in an earlier one the log`() throws {
        let format = RecordLogTests.format
        let bytes = format.encoded(RecordLogTests.records)
        let last = format.encoded(Array(RecordLogTests.records.dropLast())).count
        for index in format.header.count..<bytes.count {
            var damaged = bytes
            damaged[index] ^= 0x55
            let contents = Result { () throws(RecordLog.Problem) in try format.read(damaged) }
            if index >= last {
                #expect(try contents.get().records == Array(RecordLogTests.records.dropLast()))
            } else {
                guard case .failure(.damaged) = contents else {
                    Issue.record("byte \(index): \(contents)")
                    continue
                }
            }
        }
    }

    @Test func `a newer version is refused, and another purpose too`() {
        let newer = RecordLog(magic: "TestLog1", version: 3).encoded(RecordLogTests.records)
        #expect(throws: RecordLog.Problem.newerVersion(3)) { try RecordLogTests.format.read(newer) }
        let other = RecordLog(magic: "TestLog2", version: 2).encoded(RecordLogTests.records)
        #expect(throws: RecordLog.Problem.foreign) { try RecordLogTests.format.read(other) }
        #expect(throws: RecordLog.Problem.foreign) { try RecordLogTests.format.read([]) }
    }

    @Test func `what append returned for is there after a power cut at any call`() throws {
        for seed in UInt64(0)..<400 {
            let disk = SimulatedDisk(seed: seed)
            let path = FilePath("/log")
            let log = try DurableLog.replace(path, RecordLogTests.format, with: [], in: disk)
            disk.setFaults(.init(stop: Int(seed % 12) + 1))
            var promised: [RecordLog.Record] = []
            for record in RecordLogTests.records {
                guard (try? log.append(record)) != nil else { break }
                promised.append(record)
            }
            disk.restart(after: .power)
            let contents = try DurableLog.read(path, RecordLogTests.format, limit: 1 << 20, in: disk).get()
            #expect(contents.records.starts(with: promised), "seed \(seed)")
            #expect(contents.records.count <= promised.count + 1, "seed \(seed)")
        }
    }

    @Test func `a replacement is the old log or the new one after a power cut at any call`() throws {
        for seed in UInt64(0)..<400 {
            let disk = SimulatedDisk(seed: seed)
            let path = FilePath("/log")
            let old = Array(RecordLogTests.records.prefix(2))
            try DurableLog.replace(path, RecordLogTests.format, with: old, in: disk).close()
            disk.setFaults(.init(stop: Int(seed % 8) + 1))
            let isDone =
                (try? DurableLog.replace(path, RecordLogTests.format, with: RecordLogTests.records, in: disk)) != nil
            disk.restart(after: .power)
            let contents = try DurableLog.read(path, RecordLogTests.format, limit: 1 << 20, in: disk).get()
            if isDone {
                #expect(contents.records == RecordLogTests.records, "seed \(seed)")
            } else {
                #expect(contents.records == old || contents.records == RecordLogTests.records, "seed \(seed)")
            }
        }
    }

    @Test func `a log that failed once appends no more`() throws {
        let disk = SimulatedDisk(seed: 1)
        let log = try DurableLog.replace(FilePath("/log"), RecordLogTests.format, with: [], in: disk)
        disk.setFaults(.init(failures: [disk.calls + 1: .noSpace]))
        #expect(throws: FileError.self) { try log.append(RecordLogTests.records[0]) }
        disk.setFaults(.init())
        #expect(throws: FileError.self) { try log.append(RecordLogTests.records[0]) }
    }
}
