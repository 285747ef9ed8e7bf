using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Console;
using Tunnel2.Client.Core.Inspecting;
using Tunnel2.Inspection.Capture;
using Tunnel2.Protocol.Handshake;

namespace Tunnel2.Client.Inspecting;

/// <summary>The inspector of a process, which all of its tunnels share; or none. A tunnel never fails because of it.</summary>
internal sealed class AgentInspector : IAsyncDisposable
{
    private const int Mebibyte = 1024 * 1024;

    private readonly TimeProvider _time;
    private readonly Lock _gate = new();
    private volatile IReadOnlyList<InspectedSession> _sessions;
    private InspectorServer? _server;

    private AgentInspector(IReadOnlyList<AgentOptions> tunnels, IReadOnlyList<InspectedSession> sessions, TimeProvider time)
    {
        Tunnels = tunnels;
        _sessions = sessions;
        _time = time;
    }

    /// <summary>The tunnels to run.</summary>
    public IReadOnlyList<AgentOptions> Tunnels { get; private set; }

    /// <summary>Decides what the user left open: requests are kept where a person looks at the output. Only HTTP has requests.</summary>
    /// <param name="options">The options of a tunnel.</param>
    /// <param name="isTerminal">Whether the output is a terminal.</param>
    public static AgentOptions Decide(AgentOptions options, bool isTerminal) =>
        options with { Inspects = options.Kind == SessionKind.Http && (options.Inspects ?? (isTerminal && !options.Json)) };

    /// <summary>Starts it, if it is wanted.</summary>
    /// <param name="tunnels">The tunnels; what is for a process is the same in all.</param>
    /// <param name="events">Where it is shown.</param>
    /// <param name="time">The clock.</param>
    public static AgentInspector Start(IReadOnlyList<AgentOptions> tunnels, AgentEventSource events, TimeProvider time)
    {
        if (tunnels.FirstOrDefault(static options => options.Inspects == true) is not { } first)
        {
            return new AgentInspector(tunnels, [], time);
        }

        AgentOptions[] inspected =
        [
            .. tunnels.Select(options => options.Inspects == true ? options with { Inspection = Create(options, time) } : options),
        ];
        InspectedSession[] sessions =
            [.. inspected.Where(static options => options.Inspection is not null).Select(options => new InspectedSession(options, time))];
        var inspector = new AgentInspector(inspected, sessions, time);
        var server = InspectorServer.TryStart(first, () => inspector._sessions, time, out string? problem);
        if (server is null)
        {
            events.InspectorFailed(problem!);
            inspector.Tunnels = tunnels;
            return inspector;
        }

        inspector._server = server;
        bool isElsewhere = first.InspectorAddress is null && server.EndPoint.Port != InspectorAddress.DefaultPort;
        events.InspectorReady(server.Url, isElsewhere ? $"port {InspectorAddress.DefaultPort} is taken" : null);
        return inspector;
    }

    /// <summary>A tunnel comes later, or comes back changed; then what was kept of it stays.</summary>
    /// <returns>The options to run it with.</returns>
    public AgentOptions Add(AgentOptions options, AgentInspection? kept)
    {
        if (_server is null || options.Inspects != true)
        {
            return options;
        }

        AgentOptions inspected = options with { Inspection = kept ?? Create(options, _time) };
        lock (_gate)
        {
            _sessions =
            [
                .. _sessions.Where(session => session.Name != options.Name), new InspectedSession(inspected, _time),
            ];
        }

        return inspected;
    }

    /// <summary>A tunnel has gone, and what was kept of it goes too.</summary>
    public void Remove(string name)
    {
        lock (_gate)
        {
            _sessions = [.. _sessions.Where(session => session.Name != name)];
        }
    }

    /// <inheritdoc/>
    public ValueTask DisposeAsync() => _server?.DisposeAsync() ?? default;

    private static AgentInspection Create(AgentOptions options, TimeProvider time) =>
        new(new ExchangeStore(new InspectionLimits { Bytes = (long)options.InspectorMegabytes * Mebibyte }, time));
}
