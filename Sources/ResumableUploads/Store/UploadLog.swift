import DurableFiles
import HTTPSemantics
import TransferProtocol
import Units

/// The log next to the data of an upload.
enum UploadLog {
    static let format = RecordLog(magic: "SquallUp", version: 1)
    /// The log is rewritten at this size: 64 KiB.
    static let maximumSize: Int64 = 64 << 10

    enum Entry: Hashable {
        /// The upload was created.
        case created(UploadRecord)
        /// The bytes are durable up to `length`; `total` is the length of the representation, if known.
        case checkpoint(length: Int64, total: Int64?)
        /// All bytes are there and verified; the rename follows.
        case finishing(UploadOutcome)
        /// The upload has ended.
        case completed(UploadOutcome)

        var record: RecordLog.Record {
            switch self {
            case .created(let record): .init(kind: 1, payload: UploadLog.encode(record))
            case .checkpoint(let length, let total):
                .init(kind: 2, payload: UploadLog.encode([UInt64(length), UInt64(bitPattern: total ?? -1)]))
            case .finishing(let outcome): .init(kind: 3, payload: UploadLog.encode(outcome))
            case .completed(let outcome): .init(kind: 4, payload: UploadLog.encode(outcome))
            }
        }
    }

    /// The contents of a log.
    struct Summary: Hashable {
        var record: UploadRecord
        var length: Int64 = 0
        var finishing: UploadOutcome?
        var completed: UploadOutcome?

        /// A compact list of equivalent entries.
        var entries: [Entry] {
            if let completed { return [.created(record), .completed(completed)] }
            let checkpoint = Entry.checkpoint(length: length, total: record.length)
            return [.created(record), checkpoint] + (finishing.map { [.finishing($0)] } ?? [])
        }
    }

    /// Parses the records of a log; `nil` if they are invalid. Skips unknown kinds.
    static func summary(of records: [RecordLog.Record]) -> Summary? {
        guard let first = records.first, first.kind == 1, let record = decodeRecord(first.payload) else { return nil }
        var summary = Summary(record: record)
        for record in records.dropFirst() {
            switch record.kind {
            case 2:
                guard let numbers = decode(record.payload, count: 2), let length = Int64(exactly: numbers[0]),
                    length >= summary.length
                else { return nil }
                summary.length = length
                let total = Int64(bitPattern: numbers[1])
                if total >= 0 { summary.record.length = total }
            case 3:
                guard let outcome = decodeOutcome(record.payload) else { return nil }
                summary.finishing = outcome
                summary.length = outcome.length
            case 4:
                guard let outcome = decodeOutcome(record.payload) else { return nil }
                summary.completed = outcome
            default: break
            }
        }
        return summary
    }

    // MARK: - Payloads

    private static func encode(_ numbers: [UInt64]) -> [UInt8] {
        numbers.reduce(into: []) { $0.appendLittleEndian($1) }
    }

    private static func decode(_ bytes: [UInt8], count: Int) -> [UInt64]? {
        guard bytes.count == 8 * count else { return nil }
        return (0..<count).map { bytes[($0 * 8)..<($0 * 8 + 8)].littleEndianNumber }
    }

    private static func encode(_ outcome: UploadOutcome) -> [UInt8] {
        encode([UInt64(outcome.status.rawValue), UInt64(outcome.length)]) + outcome.digest.sha256
    }

    private static func decodeOutcome(_ bytes: [UInt8]) -> UploadOutcome? {
        guard let numbers = decode(Array(bytes.prefix(16)), count: 2), let code = Int(exactly: numbers[0]),
            let status = UploadOutcome.Status(rawValue: code), let length = Int64(exactly: numbers[1]),
            let digest = ReprDigest(sha256: Array(bytes.dropFirst(16)))
        else { return nil }
        return UploadOutcome(status: status, length: length, digest: digest)
    }

    /// The fields of a record.
    private enum Field: UInt8 {
        case name = 1
        case location = 2
        case length = 4
        case digest = 5
        case onlyNew = 6
        case created = 7
        case ifMatch = 8
        case format = 9
    }

    private static func encode(_ record: UploadRecord) -> [UInt8] {
        var fields: [(UInt8, [UInt8])] = []
        func add(_ field: Field, _ value: [UInt8]?) {
            if let value { fields.append((field.rawValue, value)) }
        }
        add(.name, Array(record.target.name.utf8))
        add(.location, Array(record.target.location.utf8))
        add(.format, record.dialect.map { Array($0.rawValue.utf8) })
        add(.length, record.length.map { encode([UInt64($0)]) })
        add(.digest, record.digest?.sha256)
        add(.onlyNew, record.isOnlyNew ? [] : nil)
        add(.ifMatch, record.ifMatch.map { Array($0.utf8) })
        add(.created, encode([UInt64(bitPattern: record.created)]))
        return FieldList.encode(fields)
    }

    private static func decodeRecord(_ bytes: [UInt8]) -> UploadRecord? {
        guard let fields = FieldList.decode(bytes[...]) else { return nil }
        var record = UploadRecord(
            target: UploadTarget(name: "", location: ""),
            dialect: nil,
            length: nil,
            digest: nil,
            isOnlyNew: false,
            created: 0
        )
        for (name, bytes) in fields {
            let value = Array(bytes)
            let number = decode(value, count: 1)?.first
            switch Field(rawValue: name) {
            case .name: record.target.name = String(decoding: value, as: UTF8.self)
            case .location: record.target.location = String(decoding: value, as: UTF8.self)
            case .format: record.dialect = .init(rawValue: String(decoding: value, as: UTF8.self))
            case .length: record.length = number.flatMap { Int64(exactly: $0) }
            case .digest: record.digest = ReprDigest(sha256: value)
            case .onlyNew: record.isOnlyNew = true
            case .ifMatch: record.ifMatch = String(decoding: value, as: UTF8.self)
            case .created: record.created = number.map { Int64(bitPattern: $0) } ?? 0
            case nil: continue
            }
        }
        return record.target.name.isEmpty ? nil : record
    }
}
