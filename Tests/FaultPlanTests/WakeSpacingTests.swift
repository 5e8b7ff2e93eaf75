import Testing
import Units

@testable import FaultPlan
@testable import FaultProfile

/// How often a proxy wakes up for faults that nobody meets.
@Suite("Wake-ups for changes of faults")
struct WakeSpacingTests {
    /// The wake-ups in a second, if something changes every `step` nanoseconds.
    private func wakes(every step: Int64) -> [Int64] {
        var spacing = WakeSpacing()
        var wakes: [Int64] = []
        var now: Int64 = 0
        while now < 1_000_000_000 {
            let change = Moment(nanoseconds: (now / step + 1) * step)
            now = spacing.wake(for: change, now: Moment(nanoseconds: now)).nanoseconds
            wakes.append(now)
        }
        return wakes
    }

    @Test
    func `are on time where they are rare, and 5 ms apart in the long run`() {
        #expect(wakes(every: 20_000_000) == (1...50).map { $0 * 20_000_000 })
        let many = wakes(every: 1_000)
        #expect(Array(many.prefix(16)) == (1...16).map { $0 * 1_000 })
        #expect((200...220).contains(many.count))
    }

    @Test
    func `are on time again when something has moved`() {
        var spacing = WakeSpacing()
        var now = Moment.zero
        for _ in 0..<100 { now = spacing.wake(for: now.advanced(byNanoseconds: 1), now: now) }
        let next = now.advanced(byNanoseconds: 1)
        let late = spacing.wake(for: next, now: now)
        spacing.refresh()
        let onTime = spacing.wake(for: next, now: now)
        #expect(late > next && onTime == next)
    }

    @Test
    func `of a link on which nothing moves are few, whatever its faults do`() {
        let faults = (0..<50).map { number in
            let duty = DutyCycle(on: .milliseconds(1), off: .milliseconds(1), offset: .microseconds(37 * number))
            return Fault(
                name: "\(number)",
                condition: Condition(connections: .all, duty: duty),
                kind: .bandwidth(Bandwidth(rate: BitRate(bitsPerSecond: 1_000)))
            )
        }
        var admitter = Admitter.of(.of([.outage(.silence, name: "dead")] + faults))
        var link = admitter.accept(at: .zero).downstream
        var (now, questions) = (Moment.zero, 0)
        while now < .seconds(1) {
            now = link.decide(available: 5, now: now).wake
            questions += 1
        }
        #expect(questions < 230)
    }

    @Test
    func `of a connection don't come before its age, or its idleness, is due`() {
        let duty = Condition(duty: DutyCycle(on: .milliseconds(1), off: .milliseconds(1)))
        let cut = Fault(name: "cut", condition: duty, kind: .cut(Cut(position: .idle(.seconds(60)), how: .close)))
        var admitter = Admitter.of(.of([cut]))
        let terminators = admitter.accept(at: .zero).faults.terminators
        #expect(
            terminators.nextChange(after: .milliseconds(5), lastPassed: .milliseconds(2)) == .milliseconds(60_002)
        )
        let late = terminators.nextChange(after: .milliseconds(60_003), lastPassed: .milliseconds(2))
        #expect(late == .milliseconds(60_004))
    }

    @Test
    func `of a phase that doesn't run come at the end of the one that does`() {
        let duty = DutyCycle(on: .milliseconds(1), off: .milliseconds(1))
        let window = Window(Condition(duty: duty), phase: 1, start: .zero)
        func next(_ phase: Int) -> Moment {
            window.nextChange(after: .zero, opened: .zero, interval: .until(.seconds(1), phase: phase))
        }
        #expect(next(0) == .seconds(1) && next(1) == .milliseconds(1))
    }
}
