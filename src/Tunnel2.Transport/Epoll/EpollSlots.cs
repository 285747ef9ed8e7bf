namespace Tunnel2.Transport.Epoll;

/// <summary>
/// The loop's handles by slot. A token is the slot with a generation that changes with each use. Descriptors are reused at once, and an
/// event of the old socket must not reach the new one. Thread-safe; looking up takes no lock.
/// </summary>
internal sealed class EpollSlots
{
    private readonly Lock _gate = new();
    private readonly Stack<int> _free = new();
    private EpollHandle?[] _handles = new EpollHandle?[256];
    private uint[] _generations = new uint[256];
    private int _used;

    public int Count
    {
        get
        {
            lock (_gate)
            {
                return _used - _free.Count;
            }
        }
    }

    public void Add(EpollHandle handle)
    {
        lock (_gate)
        {
            if (!_free.TryPop(out var slot))
            {
                slot = _used++;
                if (slot == _handles.Length)
                {
                    Array.Resize(ref _generations, slot * 2);
                    var larger = new EpollHandle?[slot * 2];
                    _handles.CopyTo(larger, 0);
                    Volatile.Write(ref _handles, larger);
                }
            }

            // 0 belongs to no handle.
            handle.Token = ((ulong)++_generations[slot] << 32) | (uint)slot;
            _handles[slot] = handle;
        }
    }

    public void Remove(EpollHandle handle)
    {
        lock (_gate)
        {
            var slot = (int)(uint)handle.Token;
            if (handle.Token != 0 && _handles[slot] == handle)
            {
                _handles[slot] = null;
                _free.Push(slot);
            }
        }
    }

    /// <summary>The handle of a token, or null when it was removed.</summary>
    public EpollHandle? Find(ulong token)
    {
        var handle = Volatile.Read(ref _handles)[(int)(uint)token];
        return handle?.Token == token ? handle : null;
    }

    public EpollHandle[] Snapshot()
    {
        lock (_gate)
        {
            return [.. _handles.Where(static handle => handle is not null).Select(static handle => handle!)];
        }
    }
}
