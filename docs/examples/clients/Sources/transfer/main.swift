import SquallTransfer

/// Shows where a transfer stands, on one line that is written anew.
func show(_ status: TransferStatus) {
    var line = "\r\(status.phase) \(status.completedBytes) of \(status.totalBytes.map(String.init) ?? "?") bytes"
    if let reason = status.failureReason, let wait = status.nextAttempt { line += ", again in \(wait): \(reason)" }
    print(line, terminator: status.isLast ? "\n" : "")
}

let session = TransferSession()
let arguments = CommandLine.arguments.dropFirst()

do {
    switch (arguments.first, arguments.dropFirst().first, arguments.dropFirst(2).first) {
    case ("get", let url?, let file?):
        let transfer = session.download(for: TransferRequest(url), to: file)
        for try await status in transfer { show(status) }
        let result = try await transfer.value
        print("\(result.bytes) bytes, \(result.resumptions) resumptions, verified: \(result.isVerified)")
    case ("put", let file?, let url?):
        let transfer = session.upload(for: TransferRequest(url), from: file)
        for try await status in transfer { show(status) }
        let result = try await transfer.value
        print("\(result.bytes) bytes, \(result.resumptions) resumptions, proof: \(result.proof)")
    case ("copy", let source?, let url?):
        let (bytes, response) = try await session.bytes(for: TransferRequest(source))
        guard response.status == 200 else {
            print("\(source) answered \(response.status)")
            break
        }
        // The response is read to its end first; then the upload survives cuts.
        let transfer = session.upload(for: TransferRequest(url), from: bytes.chunks)
        for try await status in transfer { show(status) }
        print("\(try await transfer.value.bytes) bytes")
    case ("resume", let text?, nil):
        // What an earlier run printed when it failed.
        let token = try ResumptionToken(text)
        switch token.direction {
        case .download: print(try await session.resumeDownload(token).value.bytes, "bytes")
        case .upload where token.file.isEmpty: print("run the same copy again")
        case .upload: print(try await session.resumeUpload(token).value.bytes, "bytes")
        }
    case ("lines", let url?, nil):
        let (bytes, response) = try await session.bytes(for: TransferRequest(url))
        print("status \(response.status)")
        for try await line in bytes.lines { print(line) }
    default:
        print("usage: transfer get URL FILE | put FILE URL | copy URL URL | resume TOKEN | lines URL")
    }
} catch let error as TransferError {
    print("\(error)")
    if let token = error.token { print("to go on: transfer resume '\(token.text)'") }
}
