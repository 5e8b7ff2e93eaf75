import FaultProfile
import ProxyEngine

/// The schemas of the API's bodies.
enum OpenAPISchemas {
    private typealias Schemas = KeyValuePairs<String, OpenAPIForm>

    static var all: [(key: String, value: JSONText)] {
        [proxies, profiles, others].flatMap { schemas in schemas.map { ($0.key, $0.value.json) } }
    }

    private static let proxies: Schemas = [
        "ProxyList": .full(["proxies": .list(.named("Proxy"))]),
        "Proxy": proxy,
        "ListedFault": .object(
            [
                "name": .text, "kind": .text, "text": .text,
                "source": .words(["profile", "extra", "toxic"]), "until": .text, "fault": .named("Fault"),
            ],
            required: ["name", "kind", "text", "source", "fault"]
        ),
        "Clock": .full([
            "milliseconds": .number, "paused": .flag, "phase": OpenAPIForm.text.orNull,
            "phases": .list(.full(["name": .text, "from": .number, "until": OpenAPIForm.number.orNull])),
            "repeats": .flag, "period": OpenAPIForm.number.orNull,
        ]),
        "ClockAction": .object(
            ["action": .words(["pause", "resume", "restart", "step"]), "phase": .text],
            required: ["action"]
        ),
        "ProxyDefinition": .object(
            [
                "name": .text, "listen": .text, "upstream": .text, "enabled": .flag, "seed": .number,
                "mode": .text, "unreachable": .words(["reset", "close"]), "profile": .named("ProfileOrName"),
                "faults": .list(.named("Fault")),
            ],
            required: ["name", "upstream"]
        ),
        "Population": .list(
            .object(
                [
                    "name": .text, "listen": .text, "upstream": .text, "enabled": .flag,
                    "profile": .named("ProfileOrName"), "toxics": .list(.map),
                ],
                required: ["name", "upstream"]
            )
        ),
        "ProxyChange": .object(["enabled": .flag, "listen": .text, "upstream": .text], required: []),
    ]

    private static let proxy = OpenAPIForm.full([
        "name": .text, "listen": .text, "upstream": .text, "enabled": .flag, "seed": .number,
        "profile": OpenAPIForm.full(["name": .text, "summary": .text]).orNull,
        "faults": .list(.named("ListedFault")), "toxics": .list(.map), "clock": .named("Clock"),
        "connections": .full([
            "open": .number, "accepted": .number, "failed": .number, "joining": .number,
            "unread": .number,
        ]),
        "bytes": .full(["upstream": .number, "downstream": .number]), "faulted": .map,
    ])

    private static let profiles: Schemas = [
        "ProfileOrName": .either([.named("Profile"), .text]),
        "Profile": .named("profile"),
        "Fault": .named("fault"),
        "ProfileList": .full(["profiles": .list(.named("ListedProfile"))]),
        "ListedProfile": .full([
            "name": .text, "summary": .text, "source": .words(["shipped", "folder", "stored"]),
            "version": .text, "problems": .list(.named("Problem")),
        ]),
        "ProblemList": .full(["problems": .list(.named("Problem"))]),
        "Problem": .full(["file": .text, "line": .number, "column": .number, "message": .text, "remedy": .text]),
    ]

    /// Every `code` of an error, in alphabetical order.
    static let errorCodes = [
        "cannot-listen", "capture-not-found", "conflict", "connection-not-found", "fault-not-found", "forbidden",
        "invalid", "limit-reached",
        "malformed-json", "method-not-allowed", "not-durable", "not-found", "profile-not-found", "profile-problems",
        "proxy-exists", "proxy-not-found", "stopping", "timeout", "too-large", "toxic-exists", "unauthorized",
    ]

    private static let others: Schemas = [
        "Error": .object(
            [
                "type": .text, "title": .text, "status": .number, "detail": .text,
                "code": .words(errorCodes),
                "problems": .list(.named("Problem")),
            ],
            required: ["type", "title", "status", "detail", "code"]
        ),
        "Journal": .full(["events": .list(.named("FaultEvent")), "next": .number, "lost": .number]),
        "FaultEvent": .full([
            "id": .number, "time": .text, "proxy": .text, "connection": OpenAPIForm.number.orNull,
            "direction": OpenAPIForm.words(["upstream", "downstream"]).orNull, "fault": .text,
            "kind": OpenAPIForm.text.orNull, "what": .text, "offset": OpenAPIForm.number.orNull,
        ]),
        "Story": .full([
            "captions": .list(.full(["time": .text, "text": .text])),
            "transfers": .list(
                .full([
                    "name": .text, "bytes": .number, "total": OpenAPIForm.number.orNull,
                    "resumptions": .number, "state": .words(["running", "done", "failed"]),
                ])
            ),
        ]),
        "ConnectionList": .full(["connections": .list(.named("Connection")), "total": .number]),
        "Connection": .full([
            "proxy": .text, "number": .number, "client": .text, "age": .number, "upstreamBytes": .number,
            "downstreamBytes": .number, "state": .words(ConnectionSummary.State.allCases.map(\.rawValue)),
            "faults": .list(.text),
        ]),
        "Queue": .full([
            "name": OpenAPIForm.text.orNull,
            "jobs": .list(
                .object(
                    [
                        "job": .number, "direction": .words(["download", "upload"]), "file": .text, "phase": .text,
                        "reason": .text, "message": .text, "bytes": .number, "total": .number, "priority": .number,
                        "sha256": .text, "until": .number,
                    ],
                    required: ["job", "direction", "file", "phase", "bytes", "priority"]
                )
            ),
        ]),
        "Capture": .full([
            "state": .words(["none", "running", "stopped"]), "bytes": OpenAPIForm.number.orNull, "dropped": .number,
            "failure": OpenAPIForm.text.orNull,
        ]),
        "CaptureSettings": .object(
            ["limit": .text, "snap": .text, "connections": .text, "proxies": .list(.text)],
            required: []
        ),
        "Wait": .object(
            [
                "proxy": .text, "until": .text, "timeout": .text,
                "baseline": .either([.number, .words(["now"])]),
            ],
            required: ["until"]
        ),
        "WaitResult": .full(["held": .flag, "value": .number]),
        "Snapshot": .full(["proxies": .list(.map), "profiles": .map]),
    ]
}
