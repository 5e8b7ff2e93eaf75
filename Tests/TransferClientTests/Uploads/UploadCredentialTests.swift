import HTTPTypes
import SystemPackage
import TestStreams
import TestUploadServers
import Testing
import TransferClient
import TransferProtocol

/// The credentials of uploads: on the wire, in events and on the disk.
@Suite(.timeLimit(.minutes(5))) struct UploadCredentialTests {
    private static let bytes = testBytes(900_000)

    private func credentials(_ token: String) throws -> RequestCredentials {
        RequestCredentials(fields: [try RequestField("Authorization: Bearer \(token)", isForUpload: true)])
    }

    private func expectNoSecret(_ done: Attempted, _ folder: UploadFolder) throws {
        for text in [String(reflecting: done.events), "\(done.result)", String(reflecting: done.result)] {
            #expect(!text.contains("hunter2"))
        }
        for name in folder.journalNames {
            let bytes = try #require(folder.folder.bytes(folder.journals.appending(name).string))
            #expect(bytes.firstRange(of: Array("hunter2".utf8)) == nil)
        }
    }

    @Test(arguments: [UploadServerKind.ordinary, .dialect(.v3), .dialect(.v10)])
    func `every request carries the credentials, and nothing on disk does`(kind: UploadServerKind) async throws {
        var habits = UploadServerHabits()
        habits.cut = { $0 < 2 ? 300_000 : nil }
        habits.refuse = { _, fields in fields[.authorization] == "Bearer hunter2" ? nil : 401 }
        try await withUploadServer(kind, habits) { server in
            let folder = try UploadFolder(Self.bytes)
            var request = folder.request(server.url)
            if case .dialect(let dialect) = kind { request.dialects = .only(dialect) }
            request.credentials = try credentials("hunter2")
            let done = await upload(folder, request)
            #expect(done.error == nil)
            #expect(server.delivered == [Self.bytes])
            try expectNoSecret(done, folder)
            #expect(!String(reflecting: request).contains("hunter2"))
        }
    }

    @Test func `credentials that expire midway keep the upload, and new ones resume it`() async throws {
        var habits = UploadServerHabits()
        habits.cut = { $0 == 0 ? 400_000 : nil }
        habits.refuse = { ordinal, fields in ordinal == 0 || fields[.authorization] == "Bearer new" ? nil : 401 }
        try await withUploadServer(.dialect(.v10), habits) { server in
            let folder = try UploadFolder(Self.bytes)
            var request = folder.request(server.url)
            request.credentials = try credentials("hunter2")
            let first = await upload(folder, request)
            #expect(first.unauthorized?.use == .sent)
            #expect(first.unauthorized?.challenge.realm == "files")
            #expect(first.error?.disposition == .final)
            #expect(folder.journalNames.count == 1)
            try expectNoSecret(first, folder)
            request.credentials = try credentials("new")
            let second = await upload(folder, request)
            #expect(second.events.first == .started(total: 900_000, isContinued: true))
            #expect(second.resumedAt.first ?? 0 > 0)
            #expect(server.delivered == [Self.bytes])
            #expect(folder.journalNames.isEmpty)
        }
    }

    @Test func `a refusal without credentials says which to give, and no upload is left`() async throws {
        var habits = UploadServerHabits()
        habits.refuse = { _, _ in 401 }
        for kind in [UploadServerKind.ordinary, .dialect(.v10)] {
            try await withUploadServer(kind, habits) { server in
                let folder = try UploadFolder(Self.bytes)
                let done = await upload(folder, folder.request(server.url)) { $0.interimResponseLimit = .seconds(30) }
                #expect(done.unauthorized?.use == CredentialUse.none)
                #expect(done.error?.description.contains("it asks for credentials for “files” (Basic)") == true)
                #expect(folder.journalNames.isEmpty)
            }
        }
    }
}
