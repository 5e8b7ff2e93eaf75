import Units

/// An IPv4 or IPv6 address as a number.
///
/// An IPv6 address that maps an IPv4 one (RFC 4291, section 2.5.5.2) is that IPv4 address.
public struct IPAddress: Hashable, Sendable {
    /// The longest text of an address, in bytes: eight groups, the last two as an IPv4 address.
    private static let longestText = 45

    /// The 128 bits of the address; an IPv4 address as its IPv4-mapped IPv6 address.
    let bits: UInt128

    init(bits: UInt128) {
        self.bits = bits
    }

    /// Reads an address as it is written without a port, brackets or a zone: "127.0.0.1", "fd00::1"; `nil` for
    /// anything else. IPv4 addresses have four decimal numbers without leading zeros; IPv6 addresses are those of
    /// RFC 4291, section 2.2.
    public init?(_ text: some StringProtocol) {
        guard text.utf8.count <= IPAddress.longestText else { return nil }
        if let address = IPAddress.four(Substring(text)) {
            bits = (0xFFFF << 32) | UInt128(address)
        } else if let address = IPAddress.six(Substring(text)) {
            bits = address
        } else {
            return nil
        }
    }

    /// Whether it is an IPv4 address.
    public var isIPv4: Bool { bits >> 32 == 0xFFFF }

    /// The text of the address, or of the network of 64 bits that one of IPv6 is in.
    public var network: String { isIPv4 ? text : IPAddress(bits: (bits >> 64) << 64).text }

    /// The bits of an address of its family: 32 or 128.
    var width: Int { isIPv4 ? 32 : 128 }

    /// The address as it is usually written, IPv6 by RFC 5952; reads back to the same address.
    public var text: String {
        if isIPv4 {
            return [24, 16, 8, 0].map { String((bits >> $0) & 0xFF) }.joined(separator: ".")
        }
        let groups = (0..<8).map { UInt16(truncatingIfNeeded: bits >> (112 - 16 * $0)) }
        let zeros = IPAddress.longestZeros(groups)
        func hexadecimal(_ range: Range<Int>) -> String {
            groups[range].map { String($0, radix: 16) }.joined(separator: ":")
        }
        guard zeros.count > 1 else { return hexadecimal(0..<8) }
        return hexadecimal(0..<zeros.lowerBound) + "::" + hexadecimal(zeros.upperBound..<8)
    }

    private static func longestZeros(_ groups: [UInt16]) -> Range<Int> {
        var longest = 0..<0
        var begin = 0
        for (index, group) in groups.enumerated() {
            if group != 0 { begin = index + 1 }
            if index + 1 - begin > longest.count { longest = begin..<(index + 1) }
        }
        return longest
    }

    private static func four(_ text: Substring) -> UInt32? {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 4 else { return nil }
        var address: UInt32 = 0
        for part in parts {
            guard part.isDecimal, let byte = UInt8(part) else { return nil }
            address = (address << 8) | UInt32(byte)
        }
        return address
    }

    private static func six(_ text: Substring) -> UInt128? {
        let halves = text.split(separator: "::", omittingEmptySubsequences: false)
        let groups: [UInt16]
        switch halves.count {
        case 1:
            guard let all = self.groups(halves[0], isLast: true), all.count == 8 else { return nil }
            groups = all
        case 2:
            guard let head = self.groups(halves[0], isLast: false), let tail = self.groups(halves[1], isLast: true),
                head.count + tail.count <= 7
            else { return nil }
            groups = head + [UInt16](repeating: 0, count: 8 - head.count - tail.count) + tail
        default:
            return nil
        }
        return groups.reduce(0) { ($0 << 16) | UInt128($1) }
    }

    /// The groups of a half; the last may be written as an IPv4 address.
    private static func groups(_ half: Substring, isLast: Bool) -> [UInt16]? {
        if half.isEmpty { return [] }
        var groups: [UInt16] = []
        let parts = half.split(separator: ":", omittingEmptySubsequences: false)
        for (index, part) in parts.enumerated() {
            if isLast, index == parts.count - 1, let address = four(part) {
                groups += [UInt16(address >> 16), UInt16(truncatingIfNeeded: address)]
            } else {
                let isHexadecimal = part.allSatisfy { $0.isASCII && $0.isHexDigit }
                guard isHexadecimal, (1...4).contains(part.utf8.count), let group = UInt16(part, radix: 16) else {
                    return nil
                }
                groups.append(group)
            }
        }
        return groups
    }
}

extension StringProtocol {
    /// Whether the text is a decimal number without a sign or leading zeros.
    var isDecimal: Bool {
        !isEmpty && utf8.allSatisfy { (48...57).contains($0) } && (utf8.count == 1 || !hasPrefix("0"))
    }
}

/// The IP addresses that begin with the same bits: one address, or a block of them as in RFC 4632.
public struct AddressRange: Hashable, Sendable {
    /// The longest text that is looked at, in bytes.
    private static let longestText = 64

    let first: IPAddress
    /// The bits that all of them begin with: up to 32 of an IPv4 address, up to 128 of an IPv6 address.
    let prefix: Int

    /// Reads an address ("127.0.0.1", "::1") or a block ("10.0.0.0/8", "fd00::/8").
    ///
    /// Throws for anything else, and for a block with bits after its prefix, because "10.0.0.1/8" is ambiguous.
    public init(parsing text: String) throws(UnitError) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard text.utf8.count <= AddressRange.longestText, let address = IPAddress(parts[0]) else {
            throw UnitError(
                problem: "\(text.quoted) is not an IP address or a block of them",
                remedy: "write one such as “192.0.2.7”, “10.0.0.0/8” or “fd00::/8”, without a name or a port"
            )
        }
        first = address
        guard parts.count == 2 else {
            prefix = address.width
            return
        }
        // The prefix of an IPv4-mapped address counts from bit 96.
        let hidden = address.isIPv4 && parts[0].contains(":") ? 96 : 0
        guard parts[1].isDecimal, let length = UInt8(parts[1]), (hidden...hidden + address.width).contains(Int(length))
        else {
            throw UnitError(
                problem: "\(text.quoted) has the prefix length \(String(parts[1]).quoted)",
                remedy: "write a number from \(hidden) to \(hidden + address.width) behind the slash"
            )
        }
        prefix = Int(length) - hidden
        let shift = address.width - prefix
        let base = IPAddress(bits: (address.bits >> shift) << shift)
        guard base == address else {
            let block = "\(base.text)/\(prefix)"
            throw UnitError(
                problem: "\(text.quoted) has bits behind its prefix of \(length)",
                remedy: "write \(block.quoted) for the block, or \(address.text.quoted) for the one address"
            )
        }
    }

    /// Whether the address is one of them. No IPv4 address is in a block of IPv6 addresses, nor the other way round.
    public func contains(_ address: IPAddress) -> Bool {
        address.isIPv4 == first.isIPv4 && (address.bits ^ first.bits) >> (first.width - prefix) == 0
    }

    /// The range as it is usually written; reads back to the same range.
    public var text: String { prefix == first.width ? first.text : "\(first.text)/\(prefix)" }
}
