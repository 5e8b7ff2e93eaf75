import HTTPSemantics
import HTTPTypes
import Testing

@Suite struct ReprDigestTests {
    /// The SHA-256 of zero bytes.
    private static let empty = "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:"

    @Test func `a digest is read and written alike`() throws {
        let digest = try #require(ReprDigest(Self.empty))
        #expect(digest.sha256.count == 32)
        #expect(digest.sha256.prefix(4) == [0xE3, 0xB0, 0xC4, 0x42])
        #expect(digest.headerValue == Self.empty)
        #expect(ReprDigest(sha256: digest.sha256) == digest)
    }

    @Test(
        arguments: [
            "sha-512=:AAAA:, \(empty)", "\(empty), unixsum=30637", "\(empty);note=1", "  \(empty)  ",
            "sha-256=:AAAA:,\(empty)", "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU:",
        ]
    )
    func `a digest is found among others`(_ text: String) {
        #expect(ReprDigest(text)?.headerValue == Self.empty)
    }

    @Test(
        arguments: [
            "", "sha-256", "sha-256=?1", "sha-256=1", "sha-256=\"47DE\"", "sha-256=47DE", "sha-256=:AAAA:",
            "sha-256=::", "sha-256=:!!!!:", "sha-512=:AAAA:", "SHA-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:",
            "\(empty),", "sha-256=(:AAAA:)", "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=", "sha-256=:é:",
        ]
    )
    func `an invalid digest counts as absent`(_ text: String) {
        #expect(ReprDigest(text) == nil)
    }

    @Test(arguments: [0, 31, 33])
    func `a digest has 32 bytes`(_ count: Int) {
        #expect(ReprDigest(sha256: Array(repeating: 0, count: count)) == nil)
    }

    @Test(
        arguments: [
            ("sha-256=9", 9), ("sha-256=1", 1), ("sha-256=10", 10), ("sha-256=0", 0), ("sha-512=3, sha-256=7", 7),
            ("sha-512=3", 0), ("sha-256=11", 0), ("sha-256=-1", 0), ("sha-256", 0), ("sha-256=1.5", 0), ("", 0),
            ("sha-256=1;x", 1),
        ]
    )
    func `a wish is a preference from 0 to 10`(_ text: String, _ preference: Int) {
        #expect(WantReprDigest(text)?.sha256Preference == preference)
        #expect(WantReprDigest(text)?.wantsSHA256 == (preference > 0))
    }

    @Test(arguments: ["=", "sha-256=", "sha-256 9", "é", "sha-256=9,", "9"])
    func `a Want-Repr-Digest that is no dictionary counts as absent`(_ text: String) {
        #expect(WantReprDigest(text) == nil)
    }

    @Test func `a wish is written as it is read`() {
        #expect(WantReprDigest(sha256Preference: 9).headerValue == "sha-256=9")
        #expect(WantReprDigest(sha256Preference: 99).headerValue == "sha-256=10")
        #expect(WantReprDigest(sha256Preference: -1).headerValue == "sha-256=0")
    }

    @Test func `the fields have their registered names`() {
        #expect(HTTPField.Name.reprDigest.rawName == "Repr-Digest")
        #expect(HTTPField.Name.wantReprDigest.rawName == "Want-Repr-Digest")
    }
}
