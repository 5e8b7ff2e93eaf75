import EventLoop
import FoundationEssentials
import OperatingSystem
import Synchronization
import Units

/// A capture of what passes proxies, as a pcapng file: the TCP connections of clients and those to servers.
///
/// A packet is what one call received or sent. Its addresses, times and bytes are true; what TCP adds to bytes is made: the
/// handshake, sequence numbers that begin at one for each socket, and acknowledgements of everything that has passed. A fault
/// that acts is a comment on the next packet of its connection; one that ends it, on the FIN or RST.
public final class Capture: Sendable {
    /// The settings of a capture.
    public struct Settings: Sendable {
        /// The path of the file; "-" is standard output.
        public var path: String
        /// The most bytes that a file keeps, of the newest packets; 256 MiB by default.
        public var limit = ByteCount.mebibytes(256)
        /// The most bytes of a packet's content that are kept; all by default.
        public var snap = ByteCount(262_144)
        /// The numbers of the connections that are captured; all by default. Those of a forward proxy are 0 to it.
        public var connections = 0...UInt64.max
        /// The names of the proxies that are captured; `nil` for all.
        public var proxies: Set<String>?
        /// The program that writes it.
        public var program = "Squall"

        /// The settings of a capture at `path`, else with the defaults.
        public init(path: String) { self.path = path }

        /// Reads the numbers of connections: "3", "1..2" or "3..".
        public static func connections(_ text: String) throws(UnitError) -> ClosedRange<UInt64> {
            let ends = text.split(separator: "..", maxSplits: 1, omittingEmptySubsequences: false)
            let first = UInt64(ends[0])
            let last = ends.count == 1 ? first : ends[1].isEmpty ? .max : UInt64(ends[1])
            guard let first, let last, first >= 1, first <= last else {
                throw UnitError(problem: "\(text.quoted) are no numbers of connections", remedy: "write 3, 1..2 or 3..")
            }
            return first...last
        }
    }

    /// Names of addresses and secrets of TLS, which each part of the file has.
    private struct Facts {
        /// The most names: 256. The most bytes of a name: 128.
        static let nameLimit = 256
        static let nameSize = 128
        /// The most bytes of secrets, of which the newest are kept: 16 KiB.
        static let secretLimit = 16 << 10

        var names: [(address: [UInt8], name: String)] = []
        /// The addresses that stand for those of Unix-domain sockets.
        var unix: [String: [UInt8]] = [:]
        var secrets: [UInt8] = []
    }

    /// The interfaces, in their order.
    private static let interfaces = [
        (name: "clients", description: "between the clients and Squall"),
        (name: "servers", description: "between Squall and the servers"),
    ]

    private let settings: Settings
    private let writer: BlockWriter
    private let facts: SharedFacts
    private let expectsSecrets = Atomic<Bool>(false)
    /// The sockets so far.
    private let sockets = Atomic<UInt32>(0)
    /// The nanoseconds from 1970 to moment 0.
    private let epoch: Int64
    let snap: Int

    private final class SharedFacts: Sendable {
        let value = Mutex(Facts())
    }

    /// Opens the file, which only its owner may read, or standard output. What it has stays until `begin`.
    ///
    /// - Parameters:
    ///   - whenFailing: called once, on another thread, when the file can't be written any more.
    ///   - whenWaiting: called before waiting for a reader of a FIFO.
    /// - Throws: `SystemError` of open(2) or realpath(3), or one that `isLocked`.
    public init(
        _ settings: Settings,
        whenFailing: @escaping @Sendable (SystemError) -> Void,
        whenWaiting: () -> Void = {}
    ) throws(SystemError) {
        let facts = SharedFacts()
        writer = try BlockWriter(
            path: settings.path,
            limit: max(BlockWriter.leastLimit, settings.limit.bytes),
            filler: PcapngBlock.filler,
            prologue: { buffer in
                PcapngBlock.section(of: settings.program, interfaces: Capture.interfaces, to: &buffer)
                let (names, secrets) = facts.value.withLock { ($0.names, $0.secrets) }
                if !names.isEmpty { PcapngBlock.names(names, to: &buffer) }
                if !secrets.isEmpty { PcapngBlock.secrets(secrets, to: &buffer) }
            },
            whenFailing: whenFailing,
            whenWaiting: whenWaiting
        )
        (self.settings, self.facts) = (settings, facts)
        snap = Int(settings.snap.bytes)
        let now = (date: Date().timeIntervalSince1970, moment: MonotonicClock.now)
        epoch = Int64(now.date * 1e9) - now.moment.nanoseconds
    }

    /// Empties the file and begins to write.
    public func begin() { writer.begin() }

    /// Writes what waits, and closes the file. Packets that come later are ignored.
    ///
    /// - Returns: the number of packets that came faster than they could be written, and the error that stopped writing.
    public func finish() -> (dropped: Int, failure: SystemError?) { writer.finish() }

    /// Has flights of a handshake wait for their secrets, on connections from now on. To be called where `add(secrets:)` will
    /// be. Callable from any thread, also again.
    public func awaitSecrets() { expectsSecrets.store(true, ordering: .relaxed) }

    /// Whether the file gets the secrets of sessions.
    var awaitsSecrets: Bool { expectsSecrets.load(ordering: .relaxed) }

    /// Adds lines of a key log, in the format that Wireshark reads. Callable from any thread.
    public func add(secrets lines: [UInt8]) {
        guard lines.count <= Facts.secretLimit else { return }
        facts.value.withLock { facts in
            facts.secrets += lines
            while facts.secrets.count > Facts.secretLimit, let end = facts.secrets.firstIndex(of: UInt8(ascii: "\n")) {
                facts.secrets.removeFirst(end + 1)
            }
        }
        let size = lines.count + 8 + PcapngBlock.frameSize
        writer.append(size: size) { PcapngBlock.secrets(lines, to: &$0) }
    }

    /// The bytes of an IP address; of one that stands for it where it is a Unix-domain socket's.
    func bytes(of address: SocketAddress) -> [UInt8] {
        guard let unix = address.unix else { return address.bytes }
        return standIn("\(unix)")
    }

    /// The address that stands for a Unix-domain socket called `name`, in the block for discarded packets (RFC 6666).
    func standIn(_ name: String) -> [UInt8] {
        let known: [UInt8]? = facts.value.withLock { facts in facts.unix[name] }
        if let known { return known }
        let address = facts.value.withLock { facts in
            let number = min(facts.unix.count + 1, Facts.nameLimit)
            let address: [UInt8] = [1] + [UInt8](repeating: 0, count: 13) + [UInt8(number >> 8), UInt8(number & 0xFF)]
            if number < Facts.nameLimit { facts.unix[name] = address }
            return address
        }
        add(name: name, of: address)
        return address
    }

    /// The number of another socket, from 1.
    func nextNumber() -> UInt32 { sockets.wrappingAdd(1, ordering: .relaxed).newValue }

    /// Whether the connection of a proxy with a number is captured.
    func has(_ connection: UInt64, of proxy: String) -> Bool {
        settings.connections.contains(connection) && settings.proxies?.contains(proxy) ?? true
    }

    /// Notes the name of an address.
    func add(name: String, of address: [UInt8]) {
        guard !address.isEmpty, name.utf8.count <= Facts.nameSize else { return }
        let isNew = facts.value.withLock { facts in
            guard facts.names.count < Facts.nameLimit,
                !facts.names.contains(where: { $0.address == address && $0.name == name })
            else { return false }
            facts.names.append((address, name))
            return true
        }
        guard isNew else { return }
        let size = address.count + name.utf8.count + 32
        writer.append(size: size) { PcapngBlock.names([(address, name)], to: &$0) }
    }

    /// Appends a packet: its headers, and the first bytes of its content.
    func append(_ packet: CapturedPacket, content: Span<UInt8>, comments: [String], at moment: Moment) {
        let kept = content.extracting(first: min(snap, content.count))
        let captured = packet.headSize + kept.count
        let size = comments.reduce(captured + 64) { $0 + $1.utf8.count + PcapngBlock.optionSize }
        writer.append(size: size) { buffer in
            PcapngBlock.packet(
                of: packet.interface,
                at: UInt64(clamping: epoch + moment.nanoseconds),
                captured: captured,
                length: packet.headSize + content.count,
                isInbound: packet.isInbound,
                comments: comments,
                to: &buffer
            ) { buffer in
                packet.appendHead(of: content.count, to: &buffer)
                buffer.append(kept)
            }
        }
    }
}
