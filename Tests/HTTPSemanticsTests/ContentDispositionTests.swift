import HTTPSemantics
import Testing

@Suite struct ContentDispositionTests {
    @Test(
        arguments: [
            ("attachment; filename=a.bin", "a.bin"),
            ("attachment; filename=\"a b;c.bin\"", "a b;c.bin"),
            ("attachment; filename=\"a\\\"b.bin\"", "a\"b.bin"),
            ("inline;FileName=x.tar.gz ; size=3", "x.tar.gz"),
            ("attachment; filename=plain.txt; filename*=UTF-8''na%C3%AFve%20file.txt", "naïve file.txt"),
            ("attachment; filename*=utf-8'de'%E2%82%AC.txt", "€.txt"),
            ("attachment; filename*=iso-8859-1''%A3.txt; filename=pound.txt", "pound.txt"),
            ("attachment; filename=\"../../etc/passwd\"", "passwd"),
            ("attachment; filename=\"C:\\\\Users\\\\x.doc\"", "x.doc"),
            ("attachment; filename*=UTF-8''..%2F..%2Fevil.sh", "evil.sh"),
            ("attachment", nil), ("filename=a.bin", nil), ("attachment; filename=\"\"", nil),
            ("attachment; filename=.bashrc", nil), ("attachment; filename=\"..\"", nil),
            ("attachment; filename=\"a/\"", nil), ("attachment; filename=\"a\u{1}b\"", nil),
            ("attachment; filename*=UTF-8''%zz; filename=\"\u{7F}\"", nil),
            ("attachment; filename=\(String(repeating: "a", count: 256))", nil),
        ] as [(String, String?)]
    )
    func `a name is the last component, and nothing that leads elsewhere`(field: String, name: String?) {
        #expect(ContentDisposition.fileName(field) == name)
    }

    @Test func `percent-encoding without two digits, or of no UTF-8, can't be decoded`() {
        #expect(PercentCoding.decoded("a%20b%C3%a9") == "a bé")
        for text in ["%", "%1", "%g0", "%0g", "%+1", "%ff"] { #expect(PercentCoding.decoded(text) == nil) }
    }
}
