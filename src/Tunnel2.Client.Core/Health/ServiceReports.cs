using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.Protocol.Frames;

namespace Tunnel2.Client.Core.Health;

/// <summary>Says on every uplink of one session how the service is (docs/protocol.md section 8, SERVICE). Thread-safe.</summary>
internal sealed class ServiceReports
{
    private readonly Lock _gate = new();
    private readonly ServiceCheck _check;
    private readonly List<UplinkConnection> _uplinks = [];
    private ServiceState _state;
    private uint _counter;

    public ServiceReports(ServiceCheck check) => _check = check;

    /// <summary>A further uplink, before it runs: it gets the present state at once, and each change.</summary>
    public void Add(UplinkConnection uplink)
    {
        uint counter;
        ServiceState state;
        lock (_gate)
        {
            ReadUnsynchronized();
            (state, counter) = (_state, _counter);
            _uplinks.RemoveAll(static other => other.End is not null);
            _uplinks.Add(uplink);
        }

        if (state != ServiceState.None)
        {
            uplink.SendService(state, counter);
        }
    }

    /// <summary>The state is another one.</summary>
    public void OnChanged()
    {
        UplinkConnection[] uplinks;
        uint counter;
        ServiceState state;
        lock (_gate)
        {
            ReadUnsynchronized();
            (state, counter) = (_state, _counter);
            uplinks = [.. _uplinks];
        }

        foreach (var uplink in uplinks)
        {
            uplink.SendService(state, counter);
        }
    }

    private void ReadUnsynchronized()
    {
        if (_check.State is var state && state != _state)
        {
            _state = state;
            _counter++;
        }
    }
}
