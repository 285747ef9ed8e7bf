using System.Buffers.Text;
using System.Globalization;
using System.Text;

namespace Tunnel2.ProxyEntry.Diagnostics;

/// <summary>
/// The processor time of each event loop's thread, from <c>/proc</c>: in all, or the share between two readings. The data plane does
/// nothing for it. One thread at a time.
/// </summary>
internal sealed class LoopUse
{
    private const string NamePrefix = "Tunnel2 loop ";

    /// <summary>The kernel reports processor time in these on every Linux (<c>USER_HZ</c>).</summary>
    private const double TicksPerSecond = 100;

    /// <summary>The kernel keeps this many characters of a thread's name.</summary>
    private const int LongestName = 15;

    private readonly TimeProvider _time;
    private readonly string _tasks;
    private readonly byte[] _buffer = new byte[1024];
    private readonly SortedDictionary<int, Known> _loops = [];

    /// <param name="time">The clock.</param>
    /// <param name="tasks">The folder of this process's threads; another one for tests.</param>
    public LoopUse(TimeProvider time, string tasks = "/proc/self/task")
    {
        _time = time;
        _tasks = tasks;
    }

    /// <summary>
    /// The shares, in the order of the loops' numbers, 0 to 1; 0 at a loop's first reading. Empty where the system has no such files.
    /// </summary>
    /// <param name="loops">How many loops there are.</param>
    public double[] Read(int loops)
    {
        FindIfChanged(loops);
        var shares = new double[_loops.Count];
        var i = 0;
        foreach (var known in _loops.Values)
        {
            shares[i++] = Share(known);
        }

        return shares;
    }

    /// <summary>
    /// The processor time that each loop has used, in seconds, with the loop's number. Empty where the system has no such files; without a
    /// loop that has ended.
    /// </summary>
    /// <param name="loops">How many loops there are.</param>
    public IReadOnlyList<(int Loop, double Seconds)> Totals(int loops)
    {
        FindIfChanged(loops);
        var totals = new List<(int, double)>(_loops.Count);
        foreach (var (number, known) in _loops)
        {
            if (TicksOf(ReadFile(Path.Combine(known.Folder, "stat"))) is >= 0 and var ticks)
            {
                totals.Add((number, ticks / TicksPerSecond));
            }
        }

        return totals;
    }

    /// <summary>The processor time in a line of <c>/proc/self/task/N/stat</c>, in the kernel's ticks; −1 when it is no such line.</summary>
    internal static long TicksOf(ReadOnlySpan<byte> line)
    {
        // The name is in parentheses and may have any character, so fields are counted after the last one: the state is the first, and
        // 14 and 15 of proc(5) are the twelfth and thirteenth.
        var rest = line[(line.LastIndexOf((byte)')') + 1)..].TrimStart((byte)' ');
        long ticks = 0;
        for (var field = 1; field <= 13; field++)
        {
            if (field >= 12)
            {
                if (!Utf8Parser.TryParse(rest, out long value, out _))
                {
                    return -1;
                }

                ticks += value;
            }

            var space = rest.IndexOf((byte)' ');
            if (space < 0)
            {
                return -1;
            }

            rest = rest[(space + 1)..];
        }

        return ticks;
    }

    private double Share(Known known)
    {
        var ticks = TicksOf(ReadFile(Path.Combine(known.Folder, "stat")));
        var now = _time.GetTimestamp();
        var share = 0.0;
        if (ticks >= 0 && known.Ticks >= 0 && now > known.At)
        {
            share = Math.Clamp((ticks - known.Ticks) / TicksPerSecond / _time.GetElapsedTime(known.At, now).TotalSeconds, 0, 1);
        }

        (known.Ticks, known.At) = (ticks, now);
        return share;
    }

    private void FindIfChanged(int loops)
    {
        if (_loops.Count != loops)
        {
            Find();
        }
    }

    private void Find()
    {
        _loops.Clear();
        if (!Directory.Exists(_tasks))
        {
            return;
        }

        foreach (var folder in Directory.EnumerateDirectories(_tasks))
        {
            var name = Encoding.ASCII.GetString(ReadFile(Path.Combine(folder, "comm"))).TrimEnd('\n');
            if (name.Length <= LongestName && name.StartsWith(NamePrefix, StringComparison.Ordinal)
                && int.TryParse(name[NamePrefix.Length..], NumberStyles.None, CultureInfo.InvariantCulture, out var number))
            {
                _loops[number] = new Known(folder);
            }
        }
    }

    private ReadOnlySpan<byte> ReadFile(string path)
    {
        try
        {
            using var file = File.OpenHandle(path, FileMode.Open, FileAccess.Read, FileShare.ReadWrite | FileShare.Delete);
            return _buffer.AsSpan(0, RandomAccess.Read(file, _buffer, 0));
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            // The thread has ended.
            return default;
        }
    }

    private sealed class Known(string folder)
    {
        public string Folder => folder;

        public long Ticks { get; set; } = -1;

        public long At { get; set; }
    }
}
