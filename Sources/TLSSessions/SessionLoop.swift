#if TLS
    import EventLoop
    import NIOCore
    import NIOEmbedded

    /// What the sessions on a loop share: the loop of their channels, which run on its thread, and a buffer.
    final class SessionLoop {
        let loop = EmbeddedEventLoop()
        /// The buffer of a session's input, reused unless the library keeps a part of it.
        private var buffer = ByteBuffer()

        /// That of the sessions on a loop.
        static func of(_ loop: ProxyLoop) -> SessionLoop {
            if let own = loop.attachment as? SessionLoop { return own }
            let own = SessionLoop()
            loop.attachment = own
            return own
        }

        /// The buffer with these bytes.
        func buffer(of bytes: RawSpan) -> ByteBuffer {
            buffer.clear()
            buffer.writeBytes(bytes)
            return buffer
        }
    }
#endif
