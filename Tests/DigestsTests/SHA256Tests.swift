import Digests
import Testing

@Suite struct SHA256Tests {
    /// Examples of FIPS 180-2, appendix B, and the digest of nothing.
    @Test(arguments: [
        ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        ),
        (String(repeating: "a", count: 1_000_000), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"),
    ])
    func `the digests are those of the standard`(text: String, digest: String) {
        #expect(SHA256.hash(text.utf8).hexadecimal == digest)
        #expect(SHA256.hash(text.utf8).count == SHA256.byteCount)
    }

    @Test func `bytes are hashed in pieces of any size, and of any kind`() {
        let bytes = (0..<1_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        for size in [1, 3, 63, 64, 65, 999, 1_000] {
            var hash = SHA256()
            for start in stride(from: 0, to: bytes.count, by: size) { hash.update(bytes[start...].prefix(size)) }
            #expect(hash.finalize() == SHA256.hash(bytes), "pieces of \(size)")
        }
        // A collection that isn't contiguous.
        #expect(SHA256.hash(bytes.reversed()) == SHA256.hash(Array(bytes.reversed())))
    }

    @Test func `a copy continues on its own, and a digest ends nothing`() {
        var first = SHA256()
        first.update("ab".utf8)
        var second = first
        #expect(first.finalize() == SHA256.hash("ab".utf8))
        first.update("c".utf8)
        second.update("d".utf8)
        #expect(first.finalize() == SHA256.hash("abc".utf8))
        #expect(second.finalize() == SHA256.hash("abd".utf8))
    }

    @Test func `hexadecimal digits are lower case and two per byte`() {
        #expect([0, 9, 10, 16, 171, 255].hexadecimal == "00090a10abff")
        #expect([UInt8]().hexadecimal == "")
    }
}
