using System.Text;

namespace Tunnel2.Client.Services;

/// <summary>Prints the end of a file, and what is added to it.</summary>
internal static class TailedFile
{
    /// <summary>Of a longer end only this much is looked at.</summary>
    private const int MostBytes = 1024 * 1024;

    private static readonly TimeSpan _period = TimeSpan.FromMilliseconds(500);

    /// <summary>Prints the last lines; with <paramref name="follow"/> what is added, until the caller stops it.</summary>
    /// <exception cref="IOException">It cannot be read.</exception>
    /// <exception cref="UnauthorizedAccessException">The user may not read it.</exception>
    public static async Task PrintAsync(
        string path, int lines, bool follow, TextWriter destination, TimeProvider time, CancellationToken stop)
    {
        await using var file = new FileStream(path, FileMode.Open, FileAccess.Read, FileShare.ReadWrite | FileShare.Delete);
        file.Position = Math.Max(0, file.Length - MostBytes);
        byte[] end = new byte[MostBytes];
        int length = file.ReadAtLeast(end, end.Length, throwOnEndOfStream: false);
        await WriteAsync(end.AsMemory(StartOf(end.AsSpan(0, length), lines)..length));
        using var timer = new PeriodicTimer(_period, time);
        try
        {
            while (follow && await timer.WaitForNextTickAsync(stop))
            {
                // It was emptied, or begun again.
                if (file.Length < file.Position)
                {
                    file.Position = 0;
                }

                while (await file.ReadAsync(end, stop) is > 0 and var count)
                {
                    await WriteAsync(end.AsMemory(0, count));
                }
            }
        }
        catch (OperationCanceledException)
        {
            // The caller has seen enough.
        }

        async Task WriteAsync(ReadOnlyMemory<byte> bytes)
        {
            await destination.WriteAsync(Encoding.UTF8.GetString(bytes.Span).AsMemory(), CancellationToken.None);
            await destination.FlushAsync(CancellationToken.None);
        }
    }

    /// <summary>Where the last lines begin.</summary>
    internal static int StartOf(ReadOnlySpan<byte> text, int lines)
    {
        int at = text.Length > 0 && text[^1] == '\n' ? text.Length - 1 : text.Length;
        for (int found = 0; found < lines; found++)
        {
            at = text[..at].LastIndexOf((byte)'\n');
            if (at < 0)
            {
                return 0;
            }
        }

        return at + 1;
    }
}
