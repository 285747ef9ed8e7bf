using Tunnel2.Telemetry.Aggregation;

namespace Tunnel2.Laboratory.Aggregation;

/// <summary>
/// Reads one batch ahead on a thread of its own, where reading is worth it. Not thread-safe; dispose joins the thread.
/// </summary>
internal sealed class PrefetchingSource<T> : IRecordSource<T>, IDisposable
    where T : struct
{
    private readonly IRecordSource<T> _inner;
    private readonly SemaphoreSlim _free = new(1);
    private readonly SemaphoreSlim _ready = new(0);
    private readonly Thread _thread;
    private T[] _ahead;
    private T[] _handedOut;
    private int _count;
    private long _aheadWatermark = long.MinValue;
    private Exception? _fault;
    private volatile bool _stopped;

    /// <param name="inner">The source; from now on only this object's thread may use it.</param>
    /// <param name="maxBatch">The longest batch that <paramref name="inner"/> hands out.</param>
    internal PrefetchingSource(IRecordSource<T> inner, int maxBatch)
    {
        _inner = inner;
        _ahead = new T[maxBatch];
        _handedOut = new T[maxBatch];
        _thread = new Thread(ReadAhead) { IsBackground = true, Name = "prefetch" };
        _thread.Start();
    }

    public long Watermark { get; private set; } = long.MinValue;

    public bool TryRead(out ReadOnlySpan<T> batch)
    {
        _ready.Wait();
        if (_count < 0)
        {
            _ready.Release(); // The end stays the end.
            batch = default;
            return _fault is null ? false : throw new InvalidOperationException("Reading ahead failed.", _fault);
        }

        (_ahead, _handedOut) = (_handedOut, _ahead);
        batch = _handedOut.AsSpan(0, _count);
        Watermark = _aheadWatermark;
        _free.Release();
        return true;
    }

    private void ReadAhead()
    {
        try
        {
            while (true)
            {
                _free.Wait();
                if (_stopped || !_inner.TryRead(out ReadOnlySpan<T> batch))
                {
                    break;
                }

                batch.CopyTo(_ahead);
                _count = batch.Length;
                _aheadWatermark = _inner.Watermark;
                _ready.Release();
            }
        }
        catch (Exception e)
        {
            _fault = e;
        }

        _count = -1;
        _ready.Release();
    }

    public void Dispose()
    {
        _stopped = true;
        _free.Release();
        _thread.Join();
        _free.Dispose();
        _ready.Dispose();
    }
}
