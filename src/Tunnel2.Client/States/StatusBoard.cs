using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Console;
using Tunnel2.Client.Core.Events;
using Tunnel2.Protocol;

namespace Tunnel2.Client.States;

/// <summary>
/// Keeps what each tunnel of the process does, from its events. It is for changes of state; requests do not come by. Thread-safe.
/// </summary>
internal sealed class StatusBoard
{
    private readonly Lock _gate = new();
    private readonly Dictionary<string, Entry> _entries = [];
    private readonly TimeProvider _time;
    private readonly string _version;
    private readonly DateTimeOffset _started;

    /// <param name="version">The version of the program.</param>
    /// <param name="time">The clock.</param>
    public StatusBoard(string version, TimeProvider time)
    {
        _version = version;
        _time = time;
        _started = time.GetUtcNow();
    }

    /// <summary>A tunnel begins. One of the same name that still drains is not shown any more.</summary>
    /// <returns>Takes its events.</returns>
    public Action<AgentEvent> Watch(AgentOptions options)
    {
        var entry = new Entry(new TunnelReport(
            options.Name, options.Kind.ToString().ToLowerInvariant(), options.Upstream.ToString(), options.Server.ToString(),
            TunnelReport.Connecting, _time.GetUtcNow())
        {
            Routes = [.. options.Routes.Select(static route => (route.Path, route.Target.ToString()))],
        });
        lock (_gate)
        {
            _entries[options.Name] = entry;
        }

        return agentEvent => Note(entry, agentEvent);
    }

    /// <summary>A tunnel is not in the file any more.</summary>
    public void Remove(string name)
    {
        lock (_gate)
        {
            _entries.Remove(name);
        }
    }

    /// <summary>Everything as it is now.</summary>
    public AgentReport Read()
    {
        lock (_gate)
        {
            return new AgentReport(
                Environment.ProcessId, _version, _started,
                [.. _entries.Values.Select(static entry => entry.Status).OrderBy(static status => status.Name, StringComparer.Ordinal)]);
        }
    }

    /// <summary>How many tunnels are ready, in one line.</summary>
    public string Describe()
    {
        lock (_gate)
        {
            int ready = _entries.Values.Count(static entry => entry.Status.State == TunnelReport.Ready);
            return $"tunnels ready: {ready} of {_entries.Count}";
        }
    }

    private void Note(Entry entry, AgentEvent agentEvent)
    {
        lock (_gate)
        {
            TunnelReport status = entry.Status;
            entry.Status = agentEvent switch
            {
                ReadyEvent ready => Enter(status, TunnelReport.Ready, agentEvent.Time) with
                {
                    Urls = [.. ready.PublicUrls.Select(static url => PlainText.Clean(url.TrimEnd('/')))],
                    Message = null,
                },
                ServersEvent several => status with
                {
                    Servers = [.. several.Servers.Select(static one => (
                        one.Server.ToString(), one.IsConnected, one.Message is { } why ? PlainText.Clean(why) : null))],
                },
                ConnectionEndedEvent { End: var end } => Enter(
                    status,
                    end.Reason is ConnectionEndReason.RejectedPermanently or ConnectionEndReason.Superseded
                        ? TunnelReport.Failed
                        : TunnelReport.Waiting,
                    agentEvent.Time) with
                {
                    Urls = [],
                    Servers = [.. status.Servers.Select(static one => (one.Server, false, one.Message))],
                    Message = PlainText.Clean(end.Message),
                },
                DrainingEvent => Enter(status, TunnelReport.Draining, agentEvent.Time),
                StoppedEvent => Enter(status, TunnelReport.Stopped, agentEvent.Time) with { Urls = [] },
                BackendUnreachableEvent { Upstream: var service } => status with { Down = With(status.Down, service, isDown: true) },
                BackendReachableEvent { Upstream: var service } => status with { Down = With(status.Down, service, isDown: false) },
                ServiceCheckedEvent check => status with { Down = With(status.Down, check.Upstream, isDown: !check.IsHealthy) },
                _ => status,
            };
        }
    }

    private static IReadOnlyList<string> With(IReadOnlyList<string> down, BackendTarget service, bool isDown)
    {
        string name = service.ToString();
        IEnumerable<string> others = down.Where(one => one != name);
        return isDown ? [.. others, name] : [.. others];
    }

    private static TunnelReport Enter(TunnelReport status, string state, DateTimeOffset time) =>
        status.State == state ? status : status with { State = state, Since = time };

    private sealed class Entry(TunnelReport status)
    {
        public TunnelReport Status { get; set; } = status;
    }
}
