using Tunnel2.Client.Core.Backend;
using Tunnel2.Multiplexing.Buffers;
using Tunnel2.Transport.Epoll;

namespace Tunnel2.Client.Tests.Backend;

/// <summary>What a trusted backend's pool over several loops should hold, step by step. Its connections that wait are served by the
/// pool's slots.</summary>
internal sealed class PoolModel
{
    private readonly BackendPool _pool;
    private readonly TunnelSlots _slots;
    private readonly Func<int, EpollLoop> _loop;
    private readonly BufferPool _buffers = new();

    /// <summary>Idle ones of each loop, the youngest last.</summary>
    private readonly List<BackendConnection>[] _idle;
    private readonly List<BackendConnection> _inUse = [];
    private readonly int[] _uplinks;

    public PoolModel(BackendPool pool, TunnelSlots slots, Func<int, EpollLoop> loop, int loops)
    {
        _pool = pool;
        _slots = slots;
        _loop = loop;
        _uplinks = new int[loops];
        _idle = [.. Enumerable.Range(0, loops).Select(static _ => new List<BackendConnection>())];
    }

    /// <summary>Does something, and to the model what it should mean. Without a synchronization context: what arrives is dealt with at
    /// once.</summary>
    public async Task StepAsync(Random random)
    {
        var number = random.Next(_idle.Length);
        switch (random.Next(12))
        {
            case < 5:
                await UseAsync(number);
                break;
            case < 9 when _inUse.Count > 0:
                await ReturnAsync(_inUse[random.Next(_inUse.Count)]);
                break;
            case 9 when _inUse.Count > 0:
                Take(_inUse, random.Next(_inUse.Count)).Dispose();
                break;
            case 10 when _idle[number].Count > 0:
                var gone = Fake(Take(_idle[number], random.Next(_idle[number].Count)));
                gone.Arrive(bytes: false);
                Assert.True(gone.IsDisposed);
                break;
            case 11 when random.Next(2) == 0 || _uplinks[number] == 0:
                _pool.Idle.Enter(_loop(number));
                _uplinks[number]++;
                CloseLeft();
                break;
            case 11:
                _pool.Idle.Leave(_loop(number));
                _uplinks[number]--;
                CloseLeft();
                break;
        }
    }

    /// <summary>What must hold between steps.</summary>
    public void Check()
    {
        Assert.Equal(_idle.Sum(static idle => idle.Count), _pool.Idle.Count);
        Assert.Equal(_pool.Idle.Count + _inUse.Count, _slots.All.Taken);
        Assert.All(_idle.SelectMany(static idle => idle).Concat(_inUse), static connection => Assert.False(Fake(connection).IsDisposed));
        Assert.Equal(0, _buffers.Outstanding);
    }

    /// <summary>The pool is gone: what is in use may continue, and all comes back.</summary>
    public void End()
    {
        _pool.Dispose();
        Assert.Equal(_inUse.Count, _slots.All.Taken);
        foreach (var connection in _inUse)
        {
            _pool.Return(connection, ResponseKind.Body);
        }

        Assert.Equal((0, 0), (_slots.All.Taken, _pool.Idle.Count));
    }

    /// <summary>An exchange on a loop wants a connection: the youngest there, or a new one, for which the longest idle of any loop makes
    /// room.</summary>
    private async Task UseAsync(int number)
    {
        var own = _idle[number];
        var expected = own.Count > 0 ? Take(own, own.Count - 1) : null;
        var rented = _pool.TryRent(_loop(number));
        Assert.Same(expected, rented);
        if (rented is null)
        {
            if (_slots.All.Taken == _slots.All.Limit)
            {
                if (_idle.All(static idle => idle.Count == 0))
                {
                    return;
                }

                var longest = _idle.Where(static idle => idle.Count > 0).MinBy(static idle => idle[0].IdleSince)!;
                longest.RemoveAt(0);
            }

            Assert.Null(await _slots.TakeAsync(_pool, CancellationToken.None));
            rented = new BackendConnection(new FakeBackendTransport { Home = _loop(number) }, _buffers, _slots);
        }

        Assert.Equal(number, rented.LoopNumber);
        _inUse.Add(rented);
    }

    private async Task ReturnAsync(BackendConnection connection)
    {
        if (connection.IsReused)
        {
            // The wait that began when it was idle is the one for its response.
            Fake(connection).Respond();
            await connection.WaitAsync();
        }

        _inUse.Remove(connection);
        _pool.Return(connection, ResponseKind.Body);
        if (!IsLeft(connection.LoopNumber))
        {
            _idle[connection.LoopNumber].Add(connection);
        }
    }

    private void CloseLeft()
    {
        for (var i = 0; i < _idle.Length; i++)
        {
            if (IsLeft(i))
            {
                _idle[i].Clear();
            }
        }
    }

    private bool IsLeft(int number) => _uplinks[number] == 0 && _uplinks.Sum() > 0;

    private static FakeBackendTransport Fake(BackendConnection connection) => (FakeBackendTransport)connection.Transport;

    private static BackendConnection Take(List<BackendConnection> from, int index)
    {
        var taken = from[index];
        from.RemoveAt(index);
        return taken;
    }
}
