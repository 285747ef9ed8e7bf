using System.Globalization;

namespace Tunnel2.Client.Live;

/// <summary>
/// How much of a file has been read: one line of a terminal, written over itself a few times a second, and gone at the end. Anywhere else
/// nothing is written. Thread-safe.
/// </summary>
internal sealed class ProgressBar
{
    private const int Width = 24;
    private const double MegaByte = 1e6;

    private static readonly TimeSpan _every = TimeSpan.FromMilliseconds(200);

    private readonly TextWriter _terminal;
    private readonly bool _isTerminal;
    private readonly TimeProvider _time;
    private readonly Lock _lock = new();
    private ITimer? _timer;
    private bool _isShown;

    /// <param name="terminal">Where to.</param>
    /// <param name="isTerminal">Whether that is a terminal.</param>
    /// <param name="time">The clock.</param>
    public ProgressBar(TextWriter terminal, bool isTerminal, TimeProvider time)
    {
        _terminal = terminal;
        _isTerminal = isTerminal;
        _time = time;
    }

    /// <summary>The bar of this process, on its standard error.</summary>
    public static ProgressBar OfProcess(TextWriter error, TimeProvider time) => new(error, !Console.IsErrorRedirected, time);

    /// <summary>Begins; what takes less than a moment is never shown.</summary>
    /// <param name="read">Bytes that were read so far; called on any thread.</param>
    /// <param name="all">Bytes of the file.</param>
    public void Start(Func<long> read, long all)
    {
        if (!_isTerminal || all <= 0)
        {
            return;
        }

        long start = _time.GetTimestamp();
        lock (_lock)
        {
            _timer = _time.CreateTimer(_ => Show(read(), all, _time.GetElapsedTime(start)), null, _every, _every);
        }
    }

    /// <summary>Ends: the line is empty again.</summary>
    public void End()
    {
        lock (_lock)
        {
            _timer?.Dispose();
            _timer = null;
            if (_isShown)
            {
                WriteUnsynchronized("\r\x1b[K");
            }
        }
    }

    private void Show(long read, long all, TimeSpan elapsed)
    {
        // What a file grew by since its length was asked for does not make it more than whole.
        double share = Math.Clamp((double)read / all, 0, 1);
        int full = (int)(share * Width);
        string line = string.Create(
            CultureInfo.InvariantCulture,
            $"\r[{new string('#', full)}{new string('.', Width - full)}] {Math.Floor(share * 100),3} %  {read / MegaByte:N0} of "
                + $"{all / MegaByte:N0} MB  {read / MegaByte / elapsed.TotalSeconds:N0} MB/s\x1b[K");
        lock (_lock)
        {
            if (_timer is not null)
            {
                _isShown = true;
                WriteUnsynchronized(line);
            }
        }
    }

    private void WriteUnsynchronized(string text)
    {
        try
        {
            _terminal.Write(text);
        }
        catch (IOException)
        {
            // The terminal is gone; the statistics may still have a reader.
        }
    }
}
