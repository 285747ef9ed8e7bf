using System.Net;
using Tunnel2.LoadTests.Exchanges;

namespace Tunnel2.LoadTests.Engine;

/// <summary>The open connections of a run, found by the number that the poller hands back. Only on the generator's thread.</summary>
internal sealed class ConnectionTable(Poller poller, IPEndPoint endPoint) : IDisposable
{
    private const int BufferLength = 256 * 1024;
    private const int ScratchLength = 64 * 1024;

    private readonly byte[] _buffer = new byte[BufferLength];
    private readonly byte[] _scratch = new byte[ScratchLength];
    private readonly List<(LoadConnection? Connection, uint Generation)> _slots = [];
    private readonly Stack<int> _free = new();

    /// <summary>Opens a connection for a request.</summary>
    public void Open(FlowRun flow, Exchange exchange, int slowRate, in Arrival arrival)
    {
        var connection = new LoadConnection(flow, exchange, _buffer, _scratch, slowRate);
        var descriptor = connection.Open(endPoint, arrival);
        if (descriptor < 0)
        {
            return;
        }

        if (!_free.TryPop(out var slot))
        {
            slot = _slots.Count;
            _slots.Add(default);
        }

        var generation = _slots[slot].Generation + 1;
        _slots[slot] = (connection, generation);
        poller.Add(descriptor, ((ulong)generation << 32) | (uint)slot);
    }

    /// <summary>Hands an event to its connection; one of a connection that is gone is dropped.</summary>
    public void OnEvent(ulong token, uint mask)
    {
        var slot = (int)(uint)token;
        var (connection, generation) = _slots[slot];
        if (connection is not null && generation == (uint)(token >> 32))
        {
            connection.OnEvents(mask);
            Release(slot, connection);
        }
    }

    /// <summary>Lets every connection look at the time.</summary>
    public void OnTick(long now)
    {
        for (var slot = 0; slot < _slots.Count; slot++)
        {
            if (_slots[slot].Connection is { } connection)
            {
                connection.OnTick(now);
                Release(slot, connection);
            }
        }
    }

    /// <summary>Closes all.</summary>
    public void Dispose()
    {
        foreach (var (connection, _) in _slots)
        {
            connection?.Close();
        }
    }

    private void Release(int slot, LoadConnection connection)
    {
        if (connection.IsClosed)
        {
            _slots[slot] = (null, _slots[slot].Generation);
            _free.Push(slot);
        }
    }
}
