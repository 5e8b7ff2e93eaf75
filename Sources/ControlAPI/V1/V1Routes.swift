extension V1API {
    static let waitPath = "/v1/wait"
    static let eventPath = "/v1/events"

    /// Every route, from which the responses 404 and 405 and the OpenAPI document follow.
    static let routes: [APIRoute<V1API>] = [
        APIRoute(.get, "/", "The page that shows and changes proxies.", V1API.page).gives("text/html"),
        APIRoute(.get, "/v1/proxies", "All proxies.", V1API.listProxies).gives("ProxyList"),
        APIRoute(.post, "/v1/proxies", "Creates a proxy; on failure nothing is created.", V1API.createProxy)
            .takes("ProxyDefinition")
            .gives("Proxy", 201)
            .fails(404, 409, 422, 429),
        APIRoute(.post, "/v1/populate", "Makes or replaces the proxies of a list.", V1API.populate)
            .takes("Population")
            .gives("ProxyList", 201)
            .fails(404, 409, 422, 429),
        APIRoute(.post, "/v1/reset", "Enables every proxy, and removes all profiles, faults and toxics.", V1API.reset)
            .gives("ProxyList")
            .fails(409),
        APIRoute(.get, "/v1/proxies/{name}", "A proxy.", V1API.readProxy),
        APIRoute(.patch, "/v1/proxies/{name}", "Enables, disables or moves a proxy.", V1API.changeProxy)
            .takes("ProxyChange")
            .fails(409),
        APIRoute(.delete, "/v1/proxies/{name}", "Stops and deletes a proxy.", V1API.deleteProxy).gives(nil, 204),
        APIRoute(.put, "/v1/proxies/{name}/profile", "Sets a proxy's profile.", V1API.putProfileOfProxy)
            .takes("ProfileOrName")
            .fails(422, 429),
        APIRoute(.delete, "/v1/proxies/{name}/profile", "Removes a proxy's profile.", V1API.deleteProfileOfProxy),
        APIRoute(.put, "/v1/profile", "Sets the profile of every proxy.", V1API.putProfileOfAll)
            .takes("ProfileOrName")
            .gives("ProxyList")
            .fails(404, 422, 429),
        APIRoute(.delete, "/v1/profile", "Removes the profile of every proxy.", V1API.deleteProfileOfAll)
            .gives("ProxyList"),
        APIRoute(.put, "/v1/proxies/{name}/faults/{fault}", "Adds or replaces a fault.", V1API.putFault)
            .takes("Fault")
            .query("for", "the time after which the fault expires automatically: 3s; at most 24 h")
            .fails(422, 429),
        APIRoute(.delete, "/v1/proxies/{name}/faults/{fault}", "Removes a fault.", V1API.deleteFault),
        APIRoute(.put, "/v1/faults/{fault}", "Adds or replaces a fault on every proxy.", V1API.putFaultOnAll)
            .takes("Fault")
            .query("for", "the time after which the fault expires automatically: 3s; at most 24 h")
            .gives("ProxyList")
            .fails(422, 429),
        APIRoute(.delete, "/v1/faults/{fault}", "Removes a fault from every proxy.", V1API.deleteFaultOnAll)
            .gives("ProxyList"),
        APIRoute(.post, "/v1/proxies/{name}/clock", "Changes the clock of a proxy's phases.", V1API.setClock)
            .takes("ClockAction")
            .fails(409),
        APIRoute(.get, "/v1/profiles", "The names of all profiles.", V1API.listProfiles).gives("ProfileList"),
        APIRoute(.get, "/v1/profiles/{name}", "A profile.", V1API.readProfile).gives("Profile"),
        APIRoute(.put, "/v1/profiles/{name}", "Stores a profile.", V1API.storeProfile)
            .takes("Profile")
            .gives("Profile")
            .fails(422, 429),
        APIRoute(.delete, "/v1/profiles/{name}", "Deletes a stored profile.", V1API.deleteProfile)
            .gives(nil, 204)
            .fails(409),
        APIRoute(.post, "/v1/check", "Checks a profile.", V1API.checkProfile)
            .takes("Profile")
            .gives("ProblemList"),
        APIRoute(
            .get,
            eventPath,
            "A stream of samples, faults, changes, problems and a demo's story.",
            V1API.streamEvents
        )
        .query("samples", "milliseconds between samples, 100 to 10,000; without it there are none")
        .gives("text/event-stream")
        .fails(429),
        APIRoute(.get, "/v1/story", "The captions and the transfers of a running demo.", V1API.readStory).gives(
            "Story"
        ),
        APIRoute(.get, "/v1/journal", "The last events of faults.", V1API.readJournal)
            .query("after", "the number of the last event that is known, which is the next of the response before")
            .query("limit", "1 to 10,000 events; 1,000 by default")
            .query("proxy", "the name of a proxy")
            .query("fault", "the name of a fault")
            .gives("Journal"),
        APIRoute(.get, "/v1/connections", "The open connections.", V1API.listConnections)
            .query("proxy", "the name of a proxy")
            .query("limit", "1 to 10,000 connections; 1,000 by default")
            .gives("ConnectionList")
            .fails(404),
        APIRoute(.delete, "/v1/proxies/{name}/connections/{number}", "Ends a connection.", V1API.endConnection)
            .query("how", "close, by default, or reset")
            .gives(nil, 204),
        APIRoute(.get, "/v1/queue", "The jobs of the queue of --queue.", V1API.listJobs).gives("Queue").fails(409),
        APIRoute(.get, "/v1/capture", "The state of the capture.", V1API.readCapture).gives("Capture"),
        APIRoute(.put, "/v1/capture", "Captures the connections that begin from now on.", V1API.startCapture)
            .takes("CaptureSettings")
            .gives("Capture", 201)
            .fails(409),
        APIRoute(.delete, "/v1/capture", "Ends the capture.", V1API.stopCapture).gives("Capture").fails(409),
        APIRoute(.get, "/v1/capture/file", "The capture that has ended, as pcapng.", V1API.downloadCapture)
            .gives(captureType)
            .fails(404, 409),
        APIRoute(.post, waitPath, "Waits until a condition holds.", V1API.wait)
            .takes("Wait")
            .gives("WaitResult")
            .fails(404, 408, 503),
        APIRoute(.get, "/v1/snapshot", "The whole state.", V1API.readSnapshot).gives("Snapshot"),
        APIRoute(.put, "/v1/snapshot", "Replaces the whole state.", V1API.restoreSnapshot)
            .takes("Snapshot")
            .gives("Snapshot")
            .fails(409, 422, 429),
        APIRoute(.get, "/metrics", "Metrics in Prometheus' text format.", V1API.metrics).gives("text/plain"),
        APIRoute(.get, "/v1/openapi.json", "This description.", V1API.openAPI).gives("application/json"),
    ]
}
