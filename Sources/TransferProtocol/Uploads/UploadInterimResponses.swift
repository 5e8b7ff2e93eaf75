import HTTPTypes

extension UploadState {
    /// Handles an interim response to `plan`. `now` is the wall clock in seconds since 1970.
    ///
    /// Only a 104 of the request's own version counts. The first one of a creation brings the resource; an offset is
    /// progress. An unusable `Location` leaves the upload without a resource.
    public mutating func receivedInterimResponse(
        status: Int,
        fields: HTTPFields,
        of plan: UploadRequestPlan,
        now: Int64
    ) -> InterimResponseEffect {
        guard let dialect = plan.dialect, let advertised = dialect.decodeInterim(status: status, fields) else {
            return .ignored
        }
        applyLimits(advertised.limits, now: now)
        switch plan {
        case .create, .reserve:
            if let location = fields[.location] { return resourceNamed(location, dialect, now) }
            // Without a resource to resume, an acknowledged offset is useless.
            guard created != nil else { return .ignored }
        case .append: break
        case .discoverLimits, .retrieveOffset, .cancel: return .ignored
        }
        guard dialect.rules.hasProgressResponses, let offset = advertised.offset else { return .ignored }
        return acknowledge(offset) ?? .acknowledged(acknowledged)
    }

    private mutating func resourceNamed(_ location: String, _ dialect: UploadWireFormat, _ now: Int64)
        -> InterimResponseEffect
    {
        guard let url = usable(location) else { return .ignored }
        if let created {
            guard created.url != url else { return .ignored }
            return violated(.locationChanged)
        }
        let resource = named(url, dialect, now)
        created = resource
        persistedResource = resource
        return .created(resource)
    }

    /// The resource that the current creation has made at a URL.
    func named(_ url: TransferURL, _ dialect: UploadWireFormat, _ now: Int64) -> UploadResource {
        UploadResource(url: url, dialect: dialect, expiresAt: expiry(now), hasLeftOrigin: creation.hasLeftOrigin)
    }

    /// Resolves a creation's `Location`; `nil` when it is invalid or downgrades to plain HTTP.
    func usable(_ location: String) -> TransferURL? {
        guard let url = try? creationURL.resolving(location), url.isAsSafe(as: creationURL) else { return nil }
        return url
    }

    /// Raises the acknowledged offset; returns a violation when the offset is impossible.
    mutating func acknowledge(_ offset: Int64) -> InterimResponseEffect? {
        guard offset <= parameters.length else {
            return violated(.offsetBeyondEnd(got: offset, length: parameters.length))
        }
        guard offset >= acknowledged else {
            return violated(.offsetWentBack(acknowledged: acknowledged, got: offset))
        }
        guard offset > acknowledged else { return nil }
        acknowledged = offset
        redirections = 0
        return nil
    }

    private mutating func violated(_ violation: UploadViolation) -> InterimResponseEffect {
        _ = fail(.violation(violation))
        return .violation(violation)
    }

    /// Applies the limits in a response.
    mutating func applyLimits(_ advertised: UploadLimits?, now: Int64) {
        guard let advertised else { return }
        limits = advertised
        if let most = advertised.maximumAppendSize { appendSizeLimit = min(appendSizeLimit ?? most, most) }
        guard let expiresAt = expiry(now) else { return }
        created?.expiresAt = expiresAt
        switch phase {
        case .retrievingOffset(var resource):
            resource.expiresAt = expiresAt
            phase = .retrievingOffset(resource)
        case .appending(var resource, let from):
            resource.expiresAt = expiresAt
            phase = .appending(resource, from: from)
        case .creating, .discovering, .reserving, .finished, .failed: break
        }
    }

    func expiry(_ now: Int64) -> Int64? { limits.lifetime.map { now.addingSaturated($0) } }
}
