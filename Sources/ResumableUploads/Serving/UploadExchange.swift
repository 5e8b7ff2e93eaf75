import HTTPTypes
import NIOCore

/// A request of an upload on a connection: gives its content to an `UploadService` when that asks for some, and enforces
/// a minimum rate.
///
/// Belongs to the connection's event loop. `stop()` is called once, last.
final class UploadExchange {
    /// An action for the connection.
    enum Action {
        /// Send an interim response.
        case interim(status: Int, HTTPFields)
        /// Send the final response.
        case respond(UploadResponse)
        /// Close the connection.
        case close
        /// The content arrives too slowly.
        case timeOut
        /// Content was taken: more can be read.
        case taken
    }

    /// Whether the request has arrived completely.
    private(set) var hasEnded = false
    /// The content bytes that have arrived.
    private(set) var received: Int64 = 0
    private let loop: any EventLoop
    private let service: UploadService
    private let perform: (Action) -> Void
    private var id: UploadRequestID?
    private var buffer = ByteBuffer()
    private var isContentRequested = false
    private var expectsContinue: Bool
    /// Whether the client waits for a 100 before it sends content.
    private var awaitsContinue: Bool
    private var throughput: ThroughputMonitor
    private var timer: (deadline: NIODeadline, task: Scheduled<Void>)?

    /// Makes an exchange.
    ///
    /// - Parameters:
    ///   - service: The uploads.
    ///   - loop: The event loop of the connection.
    ///   - expectsContinue: Whether the client waits for a 100 (RFC 9110, section 10.1.1).
    ///   - throughput: The minimum rate.
    ///   - perform: Called on the loop for each action, until `stop()`.
    init(
        _ service: UploadService,
        on loop: any EventLoop,
        expectsContinue: Bool,
        throughput: ThroughputMonitor,
        perform: @escaping (Action) -> Void
    ) {
        self.service = service
        self.loop = loop
        self.expectsContinue = expectsContinue
        awaitsContinue = expectsContinue
        self.throughput = throughput
        self.perform = perform
    }

    /// The content bytes that the service hasn't taken.
    var buffered: Int { buffer.readableBytes }

    /// Starts the request whose head arrived on `channel`.
    func start(_ request: UploadRequestHead, _ head: HTTPRequest, _ channel: any Channel) {
        let bound = NIOLoopBound(self, eventLoop: loop)
        id = service.begin(request, head, channel) { [loop] action in loop.execute { bound.value.carryOut(action) } }
    }

    private func carryOut(_ action: UploadServerAction) {
        guard id != nil else { return }
        switch action {
        case .interim(_, let response): perform(.interim(status: response.status, response.fields))
        case .receive:
            isContentRequested = true
            if expectsContinue { continueWhenRead() }
            deliver()
        case .respond(_, let response): perform(.respond(response))
        case .close: perform(.close)
        case .store: break
        }
    }

    /// Sends 100 (Continue) once content is wanted, unless some has arrived.
    private func continueWhenRead() {
        expectsContinue = false
        guard let id else { return }
        let bound = NIOLoopBound(self, eventLoop: loop)
        service.whenRead(id) { [loop] in
            loop.execute {
                bound.value.sendContinue()
                bound.value.deliver()
            }
        }
    }

    private func sendContinue() {
        guard id != nil, !hasEnded, buffered == 0 else { return }
        awaitsContinue = false
        perform(.interim(status: 100, [:]))
    }

    /// Content arrived.
    func contentArrived(_ content: ByteBuffer) {
        var content = content
        awaitsContinue = false
        received += Int64(content.readableBytes)
        throughput.bytesArrived(content.readableBytes, at: loop.now)
        if buffered == 0 { buffer = content } else { buffer.writeBuffer(&content) }
        deliver()
    }

    /// The content is complete.
    func contentEnded() {
        throughput.bytesArrived(0, at: loop.now)
        hasEnded = true
        deliver()
    }

    /// Delivers received content if it was requested.
    private func deliver() {
        guard let id else { return }
        if isContentRequested, buffered > 0 {
            let bytes = Array(buffer.readableBytesView)
            buffer = ByteBuffer()
            isContentRequested = false
            service.handle(.content(id, bytes))
        } else if isContentRequested, hasEnded {
            isContentRequested = false
            service.handle(.contentEnded(id))
        } else if isContentRequested, !awaitsContinue {
            throughput.waitBegan(at: loop.now)
        }
        perform(.taken)
        setTimer()
    }

    /// Content arrived after the response, and is discarded.
    func discard(_ count: Int) {
        throughput.bytesArrived(count, at: loop.now)
        waitForMore()
    }

    /// The service has responded; the rest of the content is still to come.
    func waitForMore() {
        id = nil
        throughput.waitBegan(at: loop.now)
        setTimer()
    }

    /// The connection ends before the response. The service gets the last received content first.
    func disconnect() {
        guard let id else { return }
        self.id = nil
        if buffered > 0 { service.handle(.content(id, Array(buffer.readableBytesView))) }
        service.handle(.disconnected(id))
    }

    /// Ends the exchange.
    func stop() {
        id = nil
        timer?.task.cancel()
        timer = nil
    }

    /// Schedules the next throughput check. An earlier timer stays; it reschedules itself.
    private func setTimer() {
        guard let deadline = throughput.deadline else { return }
        if let timer, timer.deadline <= deadline { return }
        timer?.task.cancel()
        let task = loop.assumeIsolated().scheduleTask(deadline: deadline) {
            self.timer = nil
            if self.throughput.isTooSlow(at: self.loop.now) { self.perform(.timeOut) } else { self.setTimer() }
        }
        timer = (deadline, task)
    }
}
