using System.Runtime.CompilerServices;

namespace Tunnel2.Telemetry.Aggregation;

/// <summary>
/// Per-session statistics of one partition in tumbling windows of 1 s, 10 s and 60 s of event time. A record is counted once, in its
/// second; longer windows are merged from closed shorter ones. A window is closed when the watermark has passed its end. Not thread-safe.
/// </summary>
internal sealed class WindowedState : IPartitionState<RequestSample>
{
    private const int OpenSlots = 64; // Power of two above the longest lateness (60 s) plus the current second.

    private readonly IWindowSink _sink;
    private readonly WindowSlot[] _seconds = new WindowSlot[OpenSlots];
    private readonly Dictionary<long, WindowSlot> _tens = [];
    private readonly Dictionary<long, WindowSlot> _minutes = [];
    private readonly List<long> _due = []; // CloseLonger reuses it.
    private readonly Stack<WindowCell> _cells = new();
    private readonly Stack<WindowSlot> _slots = new();
    private long _nextToClose = long.MaxValue;
    private long _lastOpened = long.MinValue;
    private long _passed;

    internal WindowedState(IWindowSink sink)
    {
        _sink = sink;
        for (int i = 0; i < OpenSlots; i++)
        {
            _seconds[i] = new WindowSlot();
        }
    }

    public void Process(ReadOnlySpan<RequestSample> batch)
    {
        long start = 0;
        WindowSlot? slot = null;
        foreach (ref readonly RequestSample sample in batch)
        {
            // Most records are of the same second as the previous one, and need no division and no look-up.
            if (slot is null || (ulong)(sample.EndedUnixMicroseconds - start) >= WatermarkFilter.Second)
            {
                long second = sample.EndedUnixMicroseconds / WatermarkFilter.Second;
                start = second * WatermarkFilter.Second;
                slot = Open(second);
            }

            WindowCell?[] cells = slot.Cells;
            int key = sample.Key;
            WindowCell cell = ((uint)key < (uint)cells.Length ? cells[key] : null) ?? AddCell(slot, key);
            cell.Add(sample);
        }
    }

    public void AdvanceTo(long watermark)
    {
        while (_nextToClose <= _lastOpened && (_nextToClose + 1) * WatermarkFilter.Second <= watermark)
        {
            CloseNext();
        }

        // Longer windows close in time also in a partition without new records.
        if (_tens.Count + _minutes.Count > 0 && _nextToClose > _lastOpened && watermark / WatermarkFilter.Second > _passed)
        {
            _passed = watermark / WatermarkFilter.Second;
            CloseLonger(_tens, 10, _passed, _minutes);
            CloseLonger(_minutes, 60, _passed, null);
        }
    }

    public void Complete()
    {
        while (_nextToClose <= _lastOpened)
        {
            CloseNext();
        }

        CloseLonger(_tens, 10, long.MaxValue, _minutes);
        CloseLonger(_minutes, 60, long.MaxValue, null);
    }

    private WindowSlot Open(long second)
    {
        if (_nextToClose == long.MaxValue)
        {
            _nextToClose = second;
            _lastOpened = second;
        }

        if (second > _lastOpened)
        {
            // Event time has leapt: the slot's windows of a minute ago are older than any allowed lateness.
            while (_nextToClose <= _lastOpened && second - _nextToClose >= OpenSlots)
            {
                CloseNext();
            }

            _nextToClose = _nextToClose > _lastOpened ? Math.Max(_nextToClose, second - OpenSlots + 1) : _nextToClose;
            _lastOpened = second;
        }
        else if (second < _nextToClose)
        {
            // The first records may arrive in any order within the lateness.
            _nextToClose = second;
        }

        return _seconds[second & (OpenSlots - 1)];
    }

    private void CloseNext()
    {
        long second = _nextToClose++;
        WindowSlot slot = _seconds[second & (OpenSlots - 1)];
        if (slot.Keys.Count > 0)
        {
            Emit(slot, second, 1, _tens);
        }

        long passed = second + 1;
        if (passed % 10 == 0)
        {
            CloseLonger(_tens, 10, passed, _minutes);
            if (passed % 60 == 0)
            {
                CloseLonger(_minutes, 60, passed, null);
            }
        }
    }

    /// <summary>
    /// Closes windows of <paramref name="length"/> seconds that end at or before second <paramref name="passed"/>, in order.
    /// </summary>
    private void CloseLonger(Dictionary<long, WindowSlot> open, int length, long passed, Dictionary<long, WindowSlot>? longer)
    {
        if (open.Count == 0)
        {
            return;
        }

        _due.Clear();
        foreach (long window in open.Keys)
        {
            if (passed == long.MaxValue || (window + 1) * length <= passed)
            {
                _due.Add(window);
            }
        }

        _due.Sort();
        foreach (long window in _due)
        {
            open.Remove(window, out WindowSlot? slot);
            Emit(slot!, window, length, longer);
            _slots.Push(slot!);
        }
    }

    private void Emit(WindowSlot slot, long window, int length, Dictionary<long, WindowSlot>? longer)
    {
        WindowSlot? into = null;
        if (longer is not null)
        {
            long outer = window * length / (length * (length == 1 ? 10 : 6));
            if (!longer.TryGetValue(outer, out into))
            {
                into = _slots.TryPop(out WindowSlot? free) ? free : new WindowSlot();
                longer.Add(outer, into);
            }
        }

        foreach (int key in slot.Keys)
        {
            WindowCell cell = slot.Cells[key]!;
            _sink.OnWindow(key, window * length * WatermarkFilter.Second, length, cell);
            if (into is not null)
            {
                WindowCell? sum = key < into.Cells.Length ? into.Cells[key] : null;
                (sum ?? AddCell(into, key)).Merge(cell);
            }

            slot.Cells[key] = null;
            cell.Clear();
            _cells.Push(cell);
        }

        slot.Keys.Clear();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private WindowCell AddCell(WindowSlot slot, int key)
    {
        WindowCell cell = _cells.TryPop(out WindowCell? free) ? free : new WindowCell();
        slot.Add(key, cell);
        return cell;
    }
}
