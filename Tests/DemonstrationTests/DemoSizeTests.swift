import FaultPlan
import FaultProfile
import Forecast
import ProfileFiles
import Testing
import TransferClient
import TransferReports
import Units

@testable import Demonstration
@testable import TerminalDisplay

/// How much a demo sends without `--size`.
struct DemoSizeTests {
    private static func profile(_ name: String) throws -> Profile { try ProfileLibrary.profile(name) }

    @Test(arguments: ProfileLibrary.ownProfiles, [DemoTransfer.download, .upload])
    func `each shipped profile is seen to its last phase, in half a minute`(name: String, transfer: DemoTransfer) throws
    {
        let profile = try Self.profile(name)
        let size = DemoSize(nil, profile, seed: 7, direction: transfer.direction)
        #expect(size.bytes >= DemoSize.least.bytes && size.bytes <= DemoSize.most.bytes)
        let forecast = TransferForecast(
            of: Transfer(direction: transfer.direction, bytes: ByteCount(size.bytes)),
            through: Plan(profile: profile, seed: 7, proxy: "demo", start: .zero),
            client: ClientModel(TransferClientConfiguration(), transfer.direction),
            retries: ClientRetries(seed: 7),
            limit: .seconds(120)
        )
        guard name != "dead-server" else { return }
        #expect(forecast.outcome == .complete)
        #expect(forecast.duration <= .seconds(32))
        let begin = Schedule(phases: profile.phases, repeats: profile.repeats, start: .zero, seed: 7)
            .begin(ofPhase: max(0, profile.phases.count - 1))
        if !profile.phases.isEmpty { #expect(forecast.duration >= (try #require(begin)) + .seconds(2)) }
        // What the network doesn't slow down takes 8 s by a limit of the client.
        #expect(forecast.duration >= .seconds(8) || size.pace != nil)
        #expect(size.expected <= .seconds(32))
    }

    @Test func `a given size is kept, and has no pace`() throws {
        let profile = try Self.profile("first-two-fail")
        let size = DemoSize(.kibibytes(200), profile, seed: 7, direction: .downstream)
        #expect(size.bytes == 200 << 10 && size.pace == nil)
    }

    @Test func `a profile of long phases ends after half a minute, one without a network has a small file`() throws {
        let slow = try Self.profile("slow-3g")
        #expect(DemoSize.time(of: slow, seed: 1) == .seconds(20))
        var long = slow
        long.phases = [
            Phase(name: "a", duration: .seconds(3_600), faults: []), Phase(name: "b", duration: nil, faults: []),
        ]
        #expect(DemoSize.time(of: long, seed: 1) == .seconds(30))
        let dead = try Self.profile("dead-server")
        #expect(DemoSize(nil, dead, seed: 1, direction: .upstream).bytes == DemoSize.withoutNetwork.bytes)
    }

    @Test func `phases are colored by how good they are`() throws {
        let walk = PhaseSpan.tones(of: try Self.profile("wifi-walkaway"))
        #expect(walk == [.good(isSecond: false), .poor, .gone(.refuse), .poor, .good(isSecond: true)])
        let roam = PhaseSpan.tones(of: try Self.profile("wifi-roam"))
        #expect(roam.map(\.color) == [.green, .red, .cyan, .red, .green])
    }
}
