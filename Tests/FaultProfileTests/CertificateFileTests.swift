import Testing

@testable import FaultProfile

@Suite struct CertificateFileTests {
    private static let certificate = "-----BEGIN CERTIFICATE-----\nMA==\n-----END CERTIFICATE-----\n"
    private static let key = "-----BEGIN PRIVATE KEY-----\nMA==\n-----END PRIVATE KEY-----\n"

    private func read(_ text: String) throws(ProfileProblems) -> [FaultKind] {
        let fault = #"{ "kind": "tls", "identity": "own.pem" }"#
        let source = ProfileSource(file: "dir/p.json", text: #"{ "name": "x", "faults": [\#(fault)] }"#)
        let profile = try ProfileReader.profile(from: source) { reference in
            guard case .certificate("dir/own.pem") = reference else {
                return .failure(ResolutionError(what: "there is no \(reference)", remedy: "write another"))
            }
            return .success(ProfileSource(file: "dir/own.pem", text: text))
        }
        #expect(ProfileWriter.canonicalText(of: profile).contains("MA==") == false)
        return profile.faults.map(\.kind)
    }

    @Test func `a certificate with its key is read from the folder of the profile, and shown by its path alone`() throws
    {
        let text = Self.certificate + Self.key
        let kinds = try read(text)
        let file = CertificateFile(file: "dir/own.pem", content: Array(text.utf8))
        #expect(kinds == [.tls(.identity(file))])
        var dump = ""
        Swift.dump(kinds, to: &dump)
        #expect(dump.contains("dir/own.pem") && !dump.contains("content"))
    }

    @Test(arguments: [
        (certificate, "has no private key in PEM format"), (key, "has no certificate in PEM format"),
        ("", "has no certificate in PEM format"),
        (String(repeating: "x", count: ProfileLimits.certificateBytes + 1), "have more than 1 MiB"),
    ])
    func `a file that can't be one is a problem of its key`(text: String, words: String) {
        let problems = #expect(throws: ProfileProblems.self) { try read(text) }?.problems ?? []
        #expect(problems.map(\.line) == [1] && problems.allSatisfy { $0.what.contains(words) }, "\(problems)")
    }

    @Test func `a profile that may name no file can't have one`() {
        let text = #"{ "name": "x", "faults": [{ "kind": "tls", "identity": "own.pem" }] }"#
        let problems = #expect(throws: ProfileProblems.self) {
            try ProfileReader.profile(from: ProfileSource(file: "p.json", text: text))
        }
        #expect(problems?.problems.map(\.what) == ["a profile can't have the certificate “own.pem” here"])
    }
}
