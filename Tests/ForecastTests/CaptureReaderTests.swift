import FaultPlan
import Testing
import Units

@testable import Forecast

/// Captures, for drawing.
struct CaptureReaderTests {
    private static let (syn, answer, ack, reset): (UInt8, UInt8, UInt8, UInt8) = (2, 0x12, 0x10, 0x14)

    private static func little(_ number: Int, _ size: Int) -> [UInt8] {
        (0..<size).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
    }

    private static func padded(_ bytes: [UInt8]) -> [UInt8] {
        bytes + [UInt8](repeating: 0, count: (4 - bytes.count % 4) % 4)
    }

    private static func block(_ kind: Int, _ body: [UInt8]) -> [UInt8] {
        let size = little(body.count + 12, 4)
        return little(kind, 4) + size + body + size
    }

    /// A packet between client port `client` and port 80, on a moment in milliseconds.
    private static func packet(
        _ moment: Int,
        _ client: UInt8,
        _ flags: UInt8,
        fromServer: Bool = false,
        isIPv6: Bool = false,
        interface: Int = 0,
        _ comments: String...
    ) -> [UInt8] {
        let ends: [[UInt8]] = fromServer ? [[0, 80], [0, client]] : [[0, client], [0, 80]]
        let head: [UInt8] =
            isIPv6
            ? [0x60] + [UInt8](repeating: 0, count: 39)
            : [0x45] + [UInt8](repeating: 0, count: 11) + [127, 0, 0, 1, 127, 0, 0, 1]
        let data =
            head + ends[0] + ends[1] + [UInt8](repeating: 0, count: 8) + [0x50, flags] + [UInt8](repeating: 0, count: 6)
        let time = 1_700_000_000_000_000_000 + moment * 1_000_000
        let options = comments.flatMap { little(1, 2) + little($0.utf8.count, 2) + padded(Array($0.utf8)) }
        let fields = little(interface, 4) + little(time >> 32, 4) + little(time & 0xFFFF_FFFF, 4)
        return block(6, fields + little(data.count, 4) + little(data.count, 4) + padded(data) + options + little(0, 4))
    }

    private static let capture: [UInt8] =
        block(0x0A0D_0D0A, little(0x1A2B_3C4D, 4) + little(1, 4) + [UInt8](repeating: 255, count: 8))
        + packet(500, 1, syn) + packet(501, 1, answer, fromServer: true) + packet(502, 1, ack)
        + packet(503, 9, syn, interface: 1)
        + packet(600, 2, syn, isIPv6: true) + packet(601, 2, reset, fromServer: true, isIPv6: true)
        + packet(
            700,
            1,
            reset,
            fromServer: true,
            "cut “a, b” resets, downstream, offset 100, connection 1, proxy “p”, 0.6 s"
        )
        + packet(800, 3, syn, "phase “far” of proxy “p” has begun") + packet(801, 3, answer, fromServer: true)
        + packet(900, 3, reset, "latency “l” delays, upstream, connection 3, proxy “p”, 0.8 s")

    private static func lines(_ file: [UInt8]) -> [String]? {
        CaptureReader.events(of: file.span)?.events.map { event in
            let offset = event.offset.map { " at \($0)" } ?? ""
            return
                "\(event.moment.nanoseconds / 1_000_000) \(event.connection ?? 0) \(event.fault) \(event.what)\(offset)"
        }
    }

    @Test func `connections open and end on the proxy's clock, each end is one event, and faults are the comments'`() {
        #expect(
            CaptureReaderTests.lines(CaptureReaderTests.capture) == [
                "400 1 client opens", "500 2 client opens", "501 2 server refuses", "600 1 a, b resets at 100",
                "700 3 client opens", "800 3 l delays", "800 3 client resets",
            ]
        )
        let silent = CaptureReader.events(of: CaptureReaderTests.packet(5, 1, CaptureReaderTests.syn).span)
        #expect(silent?.startsAtFirstPacket == true)
        #expect(silent?.events.map(\.moment) == [.zero])
    }

    @Test func `a comment on a server's packet is drawn, and the server's connection isn't`() {
        typealias Tests = CaptureReaderTests
        let file =
            Tests.packet(10, 1, Tests.syn) + Tests.packet(11, 1, Tests.answer, fromServer: true)
            + Tests.packet(20, 1, Tests.syn, interface: 1)
            + Tests.packet(21, 1, Tests.answer, fromServer: true, interface: 1)
            + Tests.packet(
                30,
                1,
                Tests.ack,
                interface: 1,
                "cut “c” falls silent, downstream, offset 9, connection 1, proxy “p”, 0.03 s"
            )
            + Tests.packet(40, 1, Tests.reset, fromServer: true, interface: 1)
            + Tests.packet(50, 1, Tests.reset)
        #expect(Tests.lines(file) == ["10 1 client opens", "30 1 c falls silent at 9", "50 1 client resets"])
    }

    @Test func `a comment that has waited for its packet tells when its fault acted, and when the clock started`() {
        typealias Tests = CaptureReaderTests
        func cut(_ moment: Int, _ client: UInt8, at seconds: String) -> [UInt8] {
            let comment = "cut “c” resets, downstream, offset 9, connection \(client), proxy “p”, \(seconds) s"
            return Tests.packet(moment, client, Tests.reset, fromServer: true, comment)
        }
        let late =
            Tests.packet(10, 1, Tests.syn) + Tests.packet(11, 1, Tests.answer, fromServer: true)
            + cut(4_300, 1, at: "0.3")
        // Without another one the clock starts with the first packet.
        #expect(Tests.lines(late) == ["0 1 client opens", "300 1 c resets at 9"])
        let timely =
            Tests.packet(5_000, 2, Tests.syn) + Tests.packet(5_001, 2, Tests.answer, fromServer: true)
            + Tests.packet(5_100, 2, Tests.ack, "latency “l” delays, upstream, connection 2, proxy “p”, 5.1 s")
        let timed = ["10 1 client opens", "300 1 c resets at 9", "5000 2 client opens", "5100 2 l delays"]
        #expect(Tests.lines(late + timely) == timed)
        // A clock that was set to zero at 5.9 s.
        let again =
            Tests.packet(6_000, 3, Tests.syn) + Tests.packet(6_001, 3, Tests.answer, fromServer: true)
            + cut(6_200, 3, at: "0.3")
        #expect(Tests.lines(late + timely + again) == timed + ["6000 3 client opens", "6200 3 c resets at 9"])
    }

    @Test func `what is torn, or no capture, is read as far as it goes`() throws {
        #expect(CaptureReaderTests.lines([]) == nil)
        #expect(CaptureReaderTests.lines(Array("{\"version\":1}\n".utf8) + [UInt8](repeating: 7, count: 99)) == nil)
        let whole = try #require(CaptureReaderTests.lines(CaptureReaderTests.capture))
        let torn = try #require(CaptureReaderTests.lines(Array(CaptureReaderTests.capture.dropLast(5))))
        #expect(torn == Array(whole.dropLast(2)))
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<20_000 {
            var file = CaptureReaderTests.capture
            for _ in 0..<Int.random(in: 1...8, using: &generator) {
                file[Int.random(in: file.indices, using: &generator)] = UInt8.random(in: 0...255, using: &generator)
            }
            _ = CaptureReaderTests.lines(file)
        }
    }
}
