using Tunnel2.Client.Core.Backend;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Events;
using Tunnel2.Client.Core.Http2;
using Tunnel2.Multiplexing.Buffers;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.Transport.Epoll;

namespace Tunnel2.Client.Core.Exchanges;

/// <summary>One service of a tunnel, with its connections and what is known about it. Thread-safe.</summary>
internal sealed class BackendService : IDisposable
{
    /// <param name="options">The tunnel's options.</param>
    /// <param name="route">The route that leads to the service; null: it is the tunnel's own.</param>
    /// <param name="events">What is reported of it.</param>
    /// <param name="timeProvider">The clock.</param>
    /// <param name="loop">The event loop of connections that are asked for on none.</param>
    /// <param name="slots">How many connections there may be; null: any number.</param>
    /// <param name="faults">Where faults are counted.</param>
    /// <param name="buffers">Where connections rent their buffers.</param>
    public BackendService(
        AgentOptions options,
        ServiceRoute? route,
        IAgentEvents events,
        TimeProvider timeProvider,
        EpollLoop? loop,
        TunnelSlots? slots,
        ContainedFaults? faults,
        BufferPool buffers)
    {
        var target = route?.Target ?? options.Upstream;
        var stripped = route is { StripsPrefix: true } ? route.Path.Length : 0;
        Target = target;
        Name = target.ToString();
        Connector = new BackendConnector(target, buffers, loop, slots, timeProvider);
        Backends = new BackendPool(Connector, timeProvider, route is null && options.TrustsBackend, faults)
        {
            OnSurplus = kind => events.BackendSurplus(target, BackendWords.Surplus(target, kind)),
        };
        Misunderstandings = options.WatchesBackend
            ? new BackendMisunderstandings(target, new BackendProbe(target, buffers, timeProvider), events)
            : null;
        Versions = new BackendVersions(target, route?.Protocol ?? options.BackendProtocol);
        Http2 = new Http2Connections(target, Connector, Versions, buffers, faults, timeProvider);
        Http2Heads = new Http2RequestEncoder(target, options.HostHeader, stripped);
        RequestHeads = new RequestHeadEncoder(target, options.HostHeader, stripped);
    }

    public BackendTarget Target { get; }

    /// <summary>What people and programs read of it.</summary>
    public string Name { get; }

    public BackendConnector Connector { get; }

    public BackendPool Backends { get; }

    public RequestHeadEncoder RequestHeads { get; }

    /// <summary>In which version of HTTP requests go to it.</summary>
    public BackendVersions Versions { get; }

    /// <summary>The connections to it where it speaks HTTP/2.</summary>
    public Http2Connections Http2 { get; }

    public Http2RequestEncoder Http2Heads { get; }

    /// <summary>Explains why it does not answer in HTTP; null where the agent does not watch it.</summary>
    public BackendMisunderstandings? Misunderstandings { get; }

    /// <inheritdoc/>
    public void Dispose()
    {
        Backends.Dispose();
        Http2.Dispose();
    }
}
