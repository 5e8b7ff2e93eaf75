import Foundation
import Journal
import TestStreams

/// An object of a JSON Lines output.
struct Event: Decodable, Equatable {
    var event: String?
    var bytes: Int64?
    var connections: Int?
    var equal: Bool?
    var faults: Int?
    var received: String?
    var resumedAt: [Int64]?
    var resumptions: Int?
    var seed: UInt64?
    var sent: String?
    var sha256: String?
    var transfer: String?
}

/// A line of the journal, without its time, which differs between runs.
struct JournalLine: Decodable, Equatable {
    var proxy: String
    var connection: UInt64?
    var direction: String?
    var fault: String
    var offset: Int64?
    var what: String
}

/// The objects of `lines`; fails for invalid JSON.
func decoded<Value: Decodable>(_ lines: [String], as type: Value.Type = Value.self) throws -> [Value] {
    try lines.map { line in
        do {
            return try JSONDecoder().decode(type, from: Data(line.utf8))
        } catch {
            throw Complaint("“\(line)”: \(error)")
        }
    }
}

/// The first line of a journal.
struct JournalHeader: Decodable, Equatable {
    struct Proxy: Decodable, Equatable {
        var name: String
        var seed: UInt64
        var upstream: String
        var clock: Int64?
    }

    struct Profile: Decodable, Equatable {
        var name: String
    }

    var digest: String
    var event: String
    var profile: Profile
    var proxies: [Proxy]
    var version: String
}

/// The lines of the journal at `url`, after its header.
func journal(at url: URL) throws -> [JournalLine] {
    let lines = String(decoding: try Data(contentsOf: url), as: UTF8.self).split(separator: "\n").map(String.init)
    let header: [JournalHeader] = try decoded(Array(lines.prefix(1)))
    guard header.first?.event == "journal" else { throw Complaint("the journal has no header") }
    return try decoded(Array(lines.dropFirst()))
}
