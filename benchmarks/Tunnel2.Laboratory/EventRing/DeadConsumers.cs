using Tunnel2.Telemetry.EventRing;

namespace Tunnel2.Laboratory.EventRing;

/// <summary>
/// Finds registered consumers that hold a producer back and have polled nothing for a while, and continues without
/// them. On slow paths only. Safe on any thread.
/// </summary>
internal sealed class DeadConsumers
{
    /// <summary>
    /// How long a blocked producer watches a consumer without seeing it poll before it continues without it, if nothing else is said.
    /// </summary>
    internal static readonly TimeSpan StaleAfter = TimeSpan.FromSeconds(5);

    private readonly SharedEventRing _ring;
    private readonly ConsumerTable _table;
    private readonly TimeSpan _staleAfter;
    private readonly Lock _gate = new();
    private readonly long[] _words;
    private readonly long[] _beats;
    private readonly long[] _since;

    internal DeadConsumers(SharedEventRing ring, ConsumerTable table, TimeSpan staleAfter)
    {
        _ring = ring;
        _table = table;
        _staleAfter = staleAfter;
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
                if (!_table.TryGetBlocker(i, head - _ring.Capacity, out long word, out long beat))
                {
                    _words[i] = 0;
                }
                else if (_words[i] != word || _beats[i] != beat)
                {
                    _words[i] = word;
                    _beats[i] = beat;
                    _since[i] = now;
                }
                else if (time.GetElapsedTime(_since[i], now) >= _staleAfter)
                {
                    // Each poll moves the beat: the same one as then is no sign of life since.
                    _table.Skip(i, word);
                }
            }
        }
        finally
        {
            _gate.Exit();
        }
    }
}
