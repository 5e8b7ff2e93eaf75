#if Control
    import HTTPTransport
    import HummingbirdCore
    import Logging
    import NIOCore

    /// A connection of the control server with TLS below it.
    struct SecureChannel<Base: ServerChildChannel>: ServerChildChannel {
        let base: Base
        let tls: any ServerTLS

        func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Base.Value> {
            // What the server reads waits for the handshake, and a failed one closes the connection.
            channel.eventLoop.makeCompletedFuture {
                let timer = channel.eventLoop.scheduleTask(in: ControlServer.handshakeTimeout) {
                    channel.close(promise: nil)
                }
                try tls.start(on: channel).whenComplete { _ in timer.cancel() }
            }
            .flatMap { base.setup(channel: channel, logger: logger) }
        }

        func handle(value: Base.Value, logger: Logger) async { await base.handle(value: value, logger: logger) }
    }
#endif
