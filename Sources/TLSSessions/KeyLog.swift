#if TLS
    import NIOSSL

    /// Takes the secrets of sessions, as lines in the format that Wireshark reads.
    public struct KeyLog: Sendable {
        private let write: @Sendable ([UInt8]) -> Void

        /// Makes a log whose lines go to `write`, on any loop. It must not block.
        public init(_ write: @escaping @Sendable ([UInt8]) -> Void) { self.write = write }

        var callback: NIOSSLKeyLogCallback {
            let write = write
            let end = UInt8(ascii: "\n")
            return { line in write(Array(line.readableBytesView.filter { $0 != end }) + [end]) }
        }
    }
#endif
