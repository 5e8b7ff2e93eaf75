import EventLoop

/// A loop of the proxy, where NIO has a type of the same name.
public typealias ProxyLoop = EventLoop
