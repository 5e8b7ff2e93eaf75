extension V1API {
    static let waitPath = "/v1/wait"
    static let eventPath = "/v1/events"

    /// Every route, from which the responses 404 and 405 and the OpenAPI document follow.
    static let routes: [V1Route] = [
        V1Route(.get, "/", "The page that shows and changes proxies.", V1API.page).gives("text/html"),
        V1Route(.get, "/v1/proxies", "All proxies.", V1API.listProxies).gives("ProxyList"),
        V1Route(.post, "/v1/proxies", "Creates a proxy; on failure nothing is created.", V1API.createProxy)
            .takes("ProxyDefinition")
            .gives("Proxy", 201),
        V1Route(.get, "/v1/proxies/{name}", "A proxy.", V1API.readProxy),
        V1Route(.patch, "/v1/proxies/{name}", "Enables, disables or moves a proxy.", V1API.changeProxy)
            .takes("ProxyChange"),
        V1Route(.delete, "/v1/proxies/{name}", "Stops and deletes a proxy.", V1API.deleteProxy).gives(nil, 204),
        V1Route(.put, "/v1/proxies/{name}/profile", "Sets a proxy's profile.", V1API.putProfileOfProxy)
            .takes("ProfileOrName"),
        V1Route(.delete, "/v1/proxies/{name}/profile", "Removes a proxy's profile.", V1API.deleteProfileOfProxy),
        V1Route(.put, "/v1/profile", "Sets the profile of every proxy.", V1API.putProfileOfAll)
            .takes("ProfileOrName")
            .gives("ProxyList"),
        V1Route(.delete, "/v1/profile", "Removes the profile of every proxy.", V1API.deleteProfileOfAll)
            .gives("ProxyList"),
        V1Route(.put, "/v1/proxies/{name}/faults/{fault}", "Adds or replaces a fault.", V1API.putFault)
            .takes("Fault")
            .query("for", "the time after which the fault goes by itself: 3s; at most 24 h"),
        V1Route(.delete, "/v1/proxies/{name}/faults/{fault}", "Removes a fault.", V1API.deleteFault),
        V1Route(.put, "/v1/faults/{fault}", "Adds or replaces a fault on every proxy.", V1API.putFaultOnAll)
            .takes("Fault")
            .query("for", "the time after which the fault goes by itself: 3s; at most 24 h")
            .gives("ProxyList"),
        V1Route(.delete, "/v1/faults/{fault}", "Removes a fault from every proxy.", V1API.deleteFaultOnAll)
            .gives("ProxyList"),
        V1Route(.post, "/v1/proxies/{name}/clock", "Changes the clock of a proxy's phases.", V1API.setClock)
            .takes("ClockAction"),
        V1Route(.get, "/v1/profiles", "The names of all profiles.", V1API.listProfiles).gives("ProfileList"),
        V1Route(.get, "/v1/profiles/{name}", "A profile.", V1API.readProfile).gives("Profile"),
        V1Route(.put, "/v1/profiles/{name}", "Stores a profile.", V1API.storeProfile)
            .takes("Profile")
            .gives("Profile"),
        V1Route(.delete, "/v1/profiles/{name}", "Deletes a stored profile.", V1API.deleteProfile).gives(nil, 204),
        V1Route(.post, "/v1/check", "Checks a profile.", V1API.checkProfile)
            .takes("Profile")
            .gives("ProblemList"),
        V1Route(
            .get,
            eventPath,
            "A stream of samples, faults, changes, problems and a demo's story.",
            V1API.streamEvents
        )
        .query("samples", "milliseconds between samples, 100 to 10,000; without it there are none")
        .gives("text/event-stream"),
        V1Route(.get, "/v1/story", "The captions and the transfers of a running demo.", V1API.readStory).gives("Story"),
        V1Route(.get, "/v1/journal", "The last events of faults.", V1API.readJournal)
            .query("after", "the number of the last event that is known, which is the next of the response before")
            .query("limit", "1 to 10,000 events; 1,000 by default")
            .query("proxy", "the name of a proxy")
            .query("fault", "the name of a fault")
            .gives("Journal"),
        V1Route(.get, "/v1/connections", "The open connections.", V1API.listConnections)
            .query("proxy", "the name of a proxy")
            .query("limit", "1 to 10,000 connections; 1,000 by default")
            .gives("ConnectionList"),
        V1Route(.delete, "/v1/proxies/{name}/connections/{number}", "Ends a connection.", V1API.endConnection)
            .query("how", "close, by default, or reset")
            .gives(nil, 204),
        V1Route(.post, waitPath, "Waits until a condition holds.", V1API.wait)
            .takes("Wait")
            .gives("WaitResult"),
        V1Route(.get, "/v1/snapshot", "The whole state.", V1API.readSnapshot).gives("Snapshot"),
        V1Route(.put, "/v1/snapshot", "Replaces the whole state.", V1API.restoreSnapshot)
            .takes("Snapshot")
            .gives("Snapshot"),
        V1Route(.get, "/metrics", "Metrics in Prometheus' text format.", V1API.metrics).gives("text/plain"),
        V1Route(.get, "/v1/openapi.json", "This description.", V1API.openAPI).gives("application/json"),
    ]
}
