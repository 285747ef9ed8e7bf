namespace Tunnel2.Telemetry.EventRing;

/// <summary>
/// Finds registered consumers that hold a producer back and have polled nothing for <see cref="EventRingOptions.StaleAfter"/>, and goes on without
/// them. On slow paths only. Safe on any thread.
/// </summary>
internal sealed class DeadConsumers
{
    private readonly SharedEventRing _ring;
    private readonly Lock _gate = new();
    private readonly long[] _words;
    private readonly long[] _beats;
    private readonly long[] _since;

    internal DeadConsumers(SharedEventRing ring)
    {
        _ring = ring;
        _words = new long[ring.Header.Consumers];
        _beats = new long[ring.Header.Consumers];
        _since = new long[ring.Header.Consumers];
    }

    /// <summary>Skips those that are dead by now; returns at once where another thread looks already.</summary>
    /// <param name="head">The head at which there was no room.</param>
    internal void Skip(long head)
    {
        if (!_gate.TryEnter())
        {
            return;
        }

        try
        {
            TimeProvider time = _ring.Options.Time;
            long now = time.GetTimestamp();
            for (int i = 0; i < _words.Length; i++)
            {
                if (!_ring.Consumers.TryGetBlocker(i, head - _ring.Capacity, out long word, out long beat))
                {
                    _words[i] = 0;
                }
                else if (_words[i] != word || _beats[i] != beat)
                {
                    _words[i] = word;
                    _beats[i] = beat;
                    _since[i] = now;
                }
                else if (time.GetElapsedTime(_since[i], now) >= _ring.Options.StaleAfter)
                {
                    // Each poll moves the beat: the same one as then is no sign of life since.
                    _ring.Consumers.Skip(i, word);
                }
            }
        }
        finally
        {
            _gate.Exit();
        }
    }
}
