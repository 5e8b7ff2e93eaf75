import HTTPSemantics
import HTTPTypes
import ResumableUploads
import TransferProtocol
import Units

/// A client that uploads a file under seeded faults: cuts, half-open connections, server crashes.
///
/// It records every reported offset and fails when one decreases.
struct ScriptedUploader {
    /// A broken acknowledgement.
    struct Broken: Error, Hashable {
        let reason: String
    }

    private enum State {
        /// No upload, and no request.
        case fresh
        /// A request waiting for its response. With content: the next offset, and the end of the request's content.
        case asking(UInt64, Ask)
        /// The offset is unknown.
        case lost
        /// The offset is known.
        case at(Int64)
        case finished
    }

    private enum Ask: Equatable {
        case offset
        case content(next: Int64, end: Int64, completes: Bool, isCreation: Bool)
    }

    let bytes: [UInt8]
    let dialect: UploadWireFormat
    private let sendsLength: Bool
    private let sendsDigest: Bool
    private var random: SeededGenerator
    private var state = State.fresh
    private var token: UploadToken?
    private var lastID: UInt64
    /// The highest offset reported for this upload.
    private(set) var reported: Int64 = 0
    /// The maximum number of bytes sent.
    private var mostSent: Int64 = 0
    private(set) var resumptions = 0

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
        bytes = .numbered(Int(random.next() % 3_000), seed: seed)
        dialect = UploadWireFormat.allCases[Int(random.next() % UInt64(UploadWireFormat.allCases.count))]
        sendsLength = random.next() % 2 == 0
        sendsDigest = random.next() % 2 == 0
        lastID = 0
    }

    var isFinished: Bool { if case .finished = state { true } else { false } }

    private mutating func chance(_ probability: Double) -> Bool { random.nextFraction() < probability }

    private var length: Int64 { Int64(bytes.count) }

    /// The server crashed, with every connection.
    mutating func serverStopped() {
        if case .finished = state { return }
        state = token == nil ? .fresh : .lost
    }

    /// The next action: a request, content, or a cut.
    mutating func act(on server: inout SimulatedServer) {
        switch state {
        case .fresh: create(&server)
        case .lost: retrieveOffset(&server)
        case .at(let offset): append(from: offset, &server)
        case .asking(let id, .content(let next, let end, let completes, let isCreation)):
            if chance(0.1) {
                // Half of the time the server doesn't notice the lost connection yet.
                if chance(0.5) || token == nil { server.handle(.disconnected(UploadRequestID(id))) }
                state = token == nil ? .fresh : .lost
            } else if isAwaited {
                isAwaited = false
                let count = min(end - next, Int64(1 + random.next() % 700))
                if count <= 0 {
                    server.handle(.contentEnded(UploadRequestID(id)))
                } else {
                    let piece = Array(bytes[Int(next)..<Int(next + count)])
                    mostSent = max(mostSent, next + count)
                    state = .asking(
                        id,
                        .content(next: next + count, end: end, completes: completes, isCreation: isCreation)
                    )
                    server.handle(.content(UploadRequestID(id), piece))
                }
            }
        case .asking(let id, .offset):
            if chance(0.05) {
                server.handle(.disconnected(UploadRequestID(id)))
                state = .lost
            }
        case .finished: break
        }
    }

    private var isAwaited = false

    private mutating func nextID() -> UInt64 {
        lastID += 1
        isAwaited = false
        return lastID
    }

    private mutating func create(_ server: inout SimulatedServer) {
        let id = nextID()
        let end = chance(0.3) ? Int64(random.next() % UInt64(length + 1)) : length
        let completes = end == length && chance(0.8)
        state = .asking(id, .content(next: 0, end: end, completes: completes, isCreation: true))
        var fields = dialect.fields(isComplete: completes, length: sendsLength ? length : nil)
        if sendsDigest { fields[.reprDigest] = bytes.digest.headerValue }
        server.request(id, .put, .target(.file), fields, contentLength: chance(0.5) ? end : nil)
    }

    private mutating func retrieveOffset(_ server: inout SimulatedServer) {
        guard let token else {
            state = .fresh
            return
        }
        resumptions += 1
        let id = nextID()
        state = .asking(id, .offset)
        server.request(id, .head, .upload(token), dialect.fields(), contentLength: 0)
    }

    private mutating func append(from offset: Int64, _ server: inout SimulatedServer) {
        guard let token else {
            state = .fresh
            return
        }
        let id = nextID()
        let end = chance(0.3) ? offset + Int64(random.next() % UInt64(length - offset + 1)) : length
        let completes = end == length
        state = .asking(id, .content(next: offset, end: end, completes: completes, isCreation: false))
        var fields = dialect.fields(isComplete: completes, offset: offset, isAppend: true)
        if sendsLength { dialect.encode(UploadFields(length: length), into: &fields) }
        server.request(id, .patch, .upload(token), fields, contentLength: chance(0.5) ? end - offset : nil)
    }

    // MARK: - What the server sends

    /// Processes the server's messages.
    mutating func receive(_ action: UploadServerAction) throws {
        guard case .asking(let current, let ask) = state else { return }
        switch action {
        case .store: break
        case .receive(let id):
            if id == UploadRequestID(current) { isAwaited = true }
        case .close(let id):
            if id == UploadRequestID(current) { state = token == nil ? .fresh : .lost }
        case .interim(let id, let response):
            if id == UploadRequestID(current) { try informed(response) }
        case .respond(let id, let response):
            if id == UploadRequestID(current) { try answered(response, ask) }
        }
    }

    private mutating func informed(_ response: UploadResponse) throws {
        guard response.status == 104, UploadWireFormat.interopVersion(in: response.fields) == dialect.interopVersion
        else {
            throw Broken(reason: "an informational response of another version")
        }
        if let location = response.fields[.location] { try learn(location) }
        if let offset = dialect.decode(response.fields).offset { try promised(offset) }
    }

    private mutating func learn(_ location: String) throws {
        guard let found = UploadToken(location.dropFirst("/.uploads/".count)), token == nil || token == found else {
            throw Broken(reason: "two locations")
        }
        token = found
    }

    private mutating func promised(_ offset: Int64) throws {
        guard offset >= reported else { throw Broken(reason: "the offset went down from \(reported) to \(offset)") }
        guard offset <= mostSent else { throw Broken(reason: "the offset \(offset) is beyond \(mostSent)") }
        reported = offset
    }

    private mutating func answered(_ response: UploadResponse, _ ask: Ask) throws {
        let fields = dialect.decode(response.fields)
        if let offset = fields.offset { try promised(offset) }
        switch ask {
        case .offset:
            switch response.status {
            case 204:
                guard let offset = fields.offset else { throw Broken(reason: "no offset") }
                if fields.isComplete == true, offset != length { throw Broken(reason: "complete too early") }
                state = .at(offset)
            case 500, 507: state = .lost
            default: throw Broken(reason: "\(response.status) to HEAD")
            }
        case .content(let next, let end, let completes, let isCreation):
            switch response.status {
            case 201 where fields.isComplete == false, 204 where fields.isComplete == false:
                guard !completes, next == end, fields.offset == end else { throw Broken(reason: "201 too early") }
                if isCreation, let location = response.fields[.location] { try learn(location) }
                state = .at(end)
            case 200..<300:
                guard completes, response.fields[.reprDigest] == bytes.digest.headerValue else {
                    throw Broken(reason: "a success that is none")
                }
                state = .finished
            case 500, 507: state = token == nil ? .fresh : .lost
            case 409: state = .lost
            default: throw Broken(reason: "\(response.status) to content")
            }
        }
    }
}
