import SystemPackage
import Testing
import TransferClient
import TransferProtocol

@Suite(.timeLimit(.minutes(1))) struct DownloadErrorTests {
    @Test(
        arguments: [
            (DownloadError.fileSystem(call: "pwrite", path: "/x", .noSpace), .resumable),
            (.fileSystem(call: "pwrite", path: "/x", .diskQuotaExceeded), .resumable),
            (.fileSystem(call: "fdatasync", path: "/x", .ioError), .final),
            (.fileSystem(call: "open", path: "/x", .permissionDenied), .invalidInput),
            (.gaveUp(.attempts(10), .stalled), .resumable),
            (.cancelled, .resumable),
            (.locked("/x"), .resumable),
            (.refused(.status(404)), .final),
            (.tooManyRedirections(10), .final),
            (.invalidURL("x", .noScheme), .invalidInput),
            (.tlsUnsupported("https://h/"), .invalidInput),
        ] as [(DownloadError, DownloadError.Disposition)]
    )
    func `an error tells whether it can be resumed`(error: DownloadError, disposition: DownloadError.Disposition) {
        #expect(error.disposition == disposition)
    }

    @Test func `an error of the system names the call, the path, the errno and what to do`() {
        let error = DownloadError.fileSystem(call: "pwrite", path: "/x/y", .noSpace)
        #expect(error.description.contains("pwrite(/x/y)"))
        #expect(error.description.contains("errno 28"))
        #expect(error.description.contains("make room"))
    }

    @Test func `what was given up says why, and how to go on`() {
        let error = DownloadError.gaveUp(.attempts(10), .connectionLost("reset"))
        #expect(error.description.contains("10 attempts"))
        #expect(error.description.contains("reset"))
        #expect(error.description.contains("run it again"))
    }

    @Test func `TLS is refused with the news that it comes later`() {
        #expect(DownloadError.tlsUnsupported("https://h/").description.contains("later version"))
    }
}
