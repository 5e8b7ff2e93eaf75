import Units

@testable import FaultPlan

/// Passes `bytes` through `link`, `readSize` at a time, and returns what comes out: what a pump does to real bytes.
func passed(_ bytes: [UInt8], through link: inout Link, readSize: Int, at now: (Int64) -> Moment = { _ in .zero })
    -> [UInt8]
{
    var output: [UInt8] = []
    var rest = bytes[...]
    while !rest.isEmpty {
        let moment = now(link.arrived)
        let limit = link.decide(available: Int64(rest.count), now: moment).readLimit
        var block = Array(rest.prefix(min(readSize, Int(limit))))
        if block.isEmpty { break }
        rest = rest.dropFirst(block.count)
        while !block.isEmpty, let alteration = link.nextAlteration(of: Int64(block.count), now: moment) {
            switch alteration {
            case .flip(let index, let mask): block[Int(index)] ^= mask
            case .drop(let index, let count): block.removeSubrange(Int(index)..<Int(index + count))
            case .insert(let index, let bytes): block.insert(contentsOf: bytes, at: Int(index))
            }
        }
        if block.isEmpty { continue }
        link.bytesArrived(Int64(block.count))
        link.bytesDelivered(Int64(block.count))
        output += block
    }
    return output
}
