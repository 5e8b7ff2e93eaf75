import FaultProfile

/// Alerts (RFC 8446, section 6).
enum TLSAlert {
    static let unexpectedMessage: UInt8 = 10
    static let internalError: UInt8 = 80
    static let noApplicationProtocol: UInt8 = 120
    private static let recordType: UInt8 = 21
    private static let fatal: UInt8 = 2
    private static let size = 2

    /// The name of an alert: "unknown_ca".
    static func name(_ number: UInt8) -> String { TLSAlertName(number: number)?.rawValue ?? "\(number)" }

    /// A fatal alert in the clear, in place of a ServerHello.
    static func record(_ number: UInt8) -> [UInt8] { [recordType, 3, 3, 0, UInt8(size), fatal, number] }

    /// The number of the fatal alert in the clear among whole records, as a client sends one that has no keys of its own yet.
    /// A library that expects protected records by then can't read it.
    static func inClear(among records: Span<UInt8>) -> UInt8? {
        var start = 0
        while records.count - start >= TLSRecord.headSize {
            let length = Int(records[start + 3]) << 8 | Int(records[start + 4])
            let body = start + TLSRecord.headSize
            if records[start] == recordType, length == size, records.count >= body + size, records[body] == fatal {
                return records[body + 1]
            }
            start = body + length
        }
        return nil
    }
}
