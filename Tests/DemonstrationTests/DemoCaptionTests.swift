import Testing
import TransferClient
import TransferProtocol
import Units

@testable import Demonstration

/// The captions of the demo's page.
@Suite struct DemoCaptionTests {
    @Test(
        arguments: [
            (
                .connectFailed("connect: Connection refused (errno 111)"), .milliseconds(1_800),
                "No network. Trying again in 2 s"
            ),
            (.stalled, .zero, "No network. Trying again at once"),
            (
                .connectionLost("recv: Connection reset (errno 104)"), .seconds(1),
                "The connection is lost. Trying again in 1 s"
            ),
            (.status(503), .milliseconds(400), "The server answers 503. Trying again at once"),
        ] as [(TransientFailure, Duration, String)]
    )
    func `a client that tries again is told without the system's words`(
        cause: TransientFailure,
        delay: Duration,
        caption: String
    ) {
        #expect(DemoCaption.text(of: TransferEvent.retrying(in: delay, cause, .backoff(attempts: 1))) == caption)
    }

    @Test func `an upload that resumes says where, in a unit`() {
        #expect(DemoCaption.text(of: TransferEvent.resumed(offset: 3 << 20)) == "Resumed at 3 MiB")
        #expect(DemoCaption.text(of: TransferEvent.resumed(offset: 3 << 19)) == "Resumed at 1.5 MiB")
        #expect(DemoCaption.text(of: TransferEvent.started(completed: 0)) == nil)
    }
}
