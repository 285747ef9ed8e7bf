using Tunnel2.Client.Core.Files;

namespace Tunnel2.Client.Reloading;

/// <summary>
/// Notices that a file has changed: it looks at the file's time and length once a second, which follows links and replaced files on every
/// file system. A change counts when the file did not change from one look to the next, so that a file being written is left alone.
/// </summary>
internal sealed class TunnelFileWatch
{
    /// <summary>The time between two looks.</summary>
    public static readonly TimeSpan Interval = TimeSpan.FromSeconds(1);

    private readonly Func<FileStamp> _look;
    private readonly Action<FileStamp> _changed;
    private readonly TimeProvider _time;

    /// <param name="look">Says what the file is like now.</param>
    /// <param name="changed">
    /// Called for each change, by one thread at a time; also once at the beginning, unless there is no file with anything in it: a pipe is
    /// read once and has no changes. It does not throw.
    /// </param>
    /// <param name="time">The clock.</param>
    public TunnelFileWatch(Func<FileStamp> look, Action<FileStamp> changed, TimeProvider time)
    {
        _look = look;
        _changed = changed;
        _time = time;
    }

    /// <summary>What a look sees.</summary>
    /// <param name="Written">When the file was written; the lowest value: there is no file.</param>
    /// <param name="Length">Its length, or -1.</param>
    /// <param name="Place">Its path without links; null: there is no file.</param>
    internal readonly record struct FileStamp(DateTime Written, long Length, string? Place = null);

    /// <summary>Looks at a file.</summary>
    public static FileStamp Look(string path)
    {
        try
        {
            // A folder that is mounted into a container changes by its links, and the file behind them may be as old and as long as before.
            return FileFinder.RealPath(Path.GetFullPath(path)) is { } real && new FileInfo(real) is { Exists: true } found
                ? new FileStamp(found.LastWriteTimeUtc, found.Length, real)
                : None;
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException or ArgumentException)
        {
            return None;
        }
    }

    /// <summary>Runs until <paramref name="stop"/>.</summary>
    public async Task RunAsync(CancellationToken stop)
    {
        FileStamp? known = null;
        FileStamp last = _look();
        try
        {
            while (true)
            {
                await Task.Delay(Interval, _time, stop);
                FileStamp now = _look();
                bool standsStill = now == last;
                last = now;
                if (standsStill && now != known && (known is not null || now.Length > 0))
                {
                    known = now;
                    _changed(now);
                }
            }
        }
        catch (OperationCanceledException)
        {
            // The program ends.
        }
    }

    private static FileStamp None => new(DateTime.MinValue, -1);
}
