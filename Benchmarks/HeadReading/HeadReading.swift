import FaultPlan
import FaultProfile
import Foundation
import StreamReading
import Units

/// Prints the processor time of reading a request with its response: their heads, the marks that the faults get, and
/// what the link decides. Nothing is sent or received. Exits with 1 when a case takes more than 5 µs.
@main
struct HeadReading {
    /// Nanoseconds of processor for a request with its response, at most.
    private static let limit = 5_000.0
    /// Exchanges of a sample, and samples, of which the median counts.
    private static let exchanges = 20_000
    private static let samples = 9

    static func main() {
        let sizes = "heads of \(requestHead.utf8.count) and \(responseHead.utf8.count) bytes"
        print("ns of processor for a request with its response, \(sizes)")
        var holds = true
        for (name, fault) in cases {
            let times = (0..<samples).map { _ in nanoseconds(of: fault) }.sorted()
            let median = times[times.count / 2]
            print("\(name): \(String(format: "%.0f", median))")
            holds = holds && median <= limit
        }
        exit(holds ? 0 : 1)
    }

    /// What a sample takes for each exchange.
    private static func nanoseconds(of fault: Fault) -> Double {
        var exchange = Exchange(fault)
        let (request, response) = (Array(requestHead.utf8), Array((responseHead + body).utf8))
        exchange.run(request, response, times: exchanges / 10)
        let start = clock()
        exchange.run(request, response, times: exchanges)
        let ticks = Double(clock() - start)
        return ticks / Double(CLOCKS_PER_SEC) * 1e9 / Double(exchanges)
    }

    private static let cases: [(name: String, fault: Fault)] = [
        ("a cut per MiB of the resource", cut(nil)),
        ("the same for a method and a path", cut(HTTPCondition(method: "GET", path: TextPattern("/none/*.bin")))),
        ("the same for a status", cut(HTTPCondition(status: StatusSelection(500...599)))),
        (
            "the same for two fields",
            cut(
                HTTPCondition(fields: [
                    HTTPCondition.FieldPattern(name: "Accept-Encoding", value: TextPattern("*gzip*")),
                    HTTPCondition.FieldPattern(name: "X-None", value: TextPattern("a*")),
                ])
            )
        ),
    ]

    private static func cut(_ condition: HTTPCondition?) -> Fault {
        let cut = Cut(position: .every(.mebibytes(1)), how: .reset, base: .resource)
        return Fault(name: "cut", stream: .downstream, condition: Condition(http: condition), kind: .cut(cut))
    }

    /// As a browser sends it: 11 fields.
    private static let requestHead = """
        GET /articles/2026/11/squalls?page=2&sort=newest HTTP/1.1\r
        Host: www.example.org\r
        User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:133.0) Gecko/20100101 Firefox/133.0\r
        Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r
        Accept-Language: en-US,en;q=0.5\r
        Accept-Encoding: gzip, deflate, br, zstd\r
        Referer: https://www.example.org/articles/2026/11\r
        Connection: keep-alive\r
        Cookie: session=4f2c1b9e0d8a7c6b5a49382716050403; theme=dark\r
        If-None-Match: "5e1f-63a0c7d2b1e40"\r
        Cache-Control: max-age=0\r
        Priority: u=0, i\r
        \r

        """

    /// As a server sends it: 10 fields.
    private static let responseHead = """
        HTTP/1.1 200 OK\r
        Server: nginx/1.26.2\r
        Date: Tue, 24 Nov 2026 10:00:00 GMT\r
        Content-Type: text/html; charset=utf-8\r
        Content-Length: \(body.utf8.count)\r
        Last-Modified: Mon, 23 Nov 2026 08:15:42 GMT\r
        Connection: keep-alive\r
        ETag: "5e1f-63a0c7d2b1e41"\r
        Cache-Control: public, max-age=300\r
        Vary: Accept-Encoding\r
        Strict-Transport-Security: max-age=31536000; includeSubDomains\r
        \r

        """

    private static let body = String(repeating: "squall\n", count: 40)
}

/// A connection whose messages pass a reader and both links, as the pump would have it, without sockets.
private struct Exchange {
    private var plan: ConnectionPlan
    private let reader: StreamReader
    private var now = Moment.zero

    init(_ fault: Fault) {
        var admitter = Admitter(
            Plan(profile: Profile(name: "heads", faults: [fault]), seed: 1, proxy: "proxy", start: .zero)
        )
        self.plan = admitter.accept(at: .zero)
        reader = StreamReader(self.plan.reading)
    }

    mutating func run(_ request: [UInt8], _ response: [UInt8], times: Int) {
        for _ in 0..<times {
            now = now.advanced(byNanoseconds: 100_000)
            Exchange.pass(request.span, reader, &plan.upstream, now)
            Exchange.pass(response.span, reader, &plan.downstream, now)
        }
    }

    private static func pass(_ bytes: Span<UInt8>, _ reader: StreamReader, _ link: inout Link, _ now: Moment) {
        reader.timeAdvanced(to: now, link.direction)
        guard case .receive(let limit) = link.next(available: Int64(bytes.count), now: now), limit >= bytes.count else {
            preconditionFailure("a cut was made")
        }
        let portion = reader.read(bytes, link.direction, at: now, into: &link)
        precondition(portion.count == bytes.count && reader.heldCount(link.direction) == 0, "a message wasn't read")
        link.bytesArrived(Int64(bytes.count))
        if case .send(let count) = link.next(available: nil, now: now) { link.bytesDelivered(count) }
        precondition(link.held == 0, "bytes were held back")
    }
}
