internal import FoundationEssentials
internal import Glibc
package import NIOCore
internal import NIOPosix

/// A connection of the daemon's socket, in lines of JSON.
package struct QueueChannel {
    package typealias Channel = NIOAsyncChannel<ByteBuffer, ByteBuffer>

    private var inbound: NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator
    /// Sends lines.
    package let writer: Writer
    private var unread: [UInt8] = []

    package init(_ inbound: NIOAsyncChannelInboundStream<ByteBuffer>, _ channel: any NIOCore.Channel) {
        self.inbound = inbound.makeAsyncIterator()
        writer = Writer(channel: channel)
    }

    /// A line can't be read: it is too long, no JSON of the protocol, or of another version.
    package struct Unreadable: Error {
        package init() {}
    }

    /// The next line; `nil` at the end of the connection.
    package mutating func line() async throws -> String? {
        var searched = 0
        while true {
            if let end = unread[searched...].firstIndex(of: UInt8(ascii: "\n")) {
                let line = String(decoding: unread[..<end], as: UTF8.self)
                unread.removeSubrange(...end)
                return line
            }
            guard unread.count <= QueueProtocol.maximumLine else { throw Unreadable() }
            searched = unread.count
            guard let buffer = try await inbound.next() else { return nil }
            unread += Array(buffer.readableBytesView)
        }
    }

    /// The next value; `nil` at the end of the connection.
    package mutating func value<Value: Decodable>(_ type: Value.Type) async throws -> Value? {
        guard let line = try await line() else { return nil }
        guard let value = try? JSONDecoder().decode(type, from: Data(line.utf8)) else { throw Unreadable() }
        return value
    }

    /// Sends the lines of one side.
    package struct Writer: Sendable {
        fileprivate let channel: any NIOCore.Channel

        /// Sends a line, and returns when the system has it: what a channel still has is lost when it is closed.
        package func send(line: String) async throws {
            try await withTaskCancellationHandler {
                try await channel.writeAndFlush(ByteBuffer(string: line + "\n")).get()
            } onCancel: {
                channel.close(promise: nil)
            }
        }

        /// Sends a value.
        package func send(_ value: some Encodable) async throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            try await send(line: String(decoding: try encoder.encode(value), as: UTF8.self))
        }
    }

    /// Makes the channel of a connection, on its loop.
    package static func make(_ channel: any NIOCore.Channel) -> EventLoopFuture<Channel> {
        channel.eventLoop.makeCompletedFuture { try Channel(wrappingChannelSynchronously: channel) }
    }

    /// The user of the process at the other end (SO_PEERCRED, unix(7)).
    package static func user(of channel: any NIOCore.Channel) async throws -> UInt32 {
        guard let options = channel as? any SocketOptionProvider else { throw Unreadable() }
        let peer: PeerCredentials = try await options.unsafeGetSocketOption(
            level: .socket,
            name: NIOBSDSocket.Option(rawValue: SO_PEERCRED)
        ).get()
        return peer.user
    }

    /// `struct ucred` of unix(7).
    private struct PeerCredentials {
        var process: Int32 = 0
        var user: UInt32 = 0
        var group: UInt32 = 0
    }
}
