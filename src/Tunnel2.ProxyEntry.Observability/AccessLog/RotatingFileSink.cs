using System.Globalization;
using Tunnel2.Telemetry.Files;

namespace Tunnel2.ProxyEntry.AccessLog;

/// <summary>
/// Writes lines into a file that is renamed when it would get too large: <c>access.log</c> becomes <c>access.log.1</c>, that one
/// <c>access.log.2</c>, and the oldest is deleted. Only their owner may read them.
/// </summary>
internal sealed class RotatingFileSink : IAccessLogSink
{
    private readonly string _path;
    private readonly long _maxBytes;
    private readonly int _maxFiles;
    private FileStream? _file;
    private bool _endsInMidLine;

    /// <summary>Opens nothing yet: a file that cannot be opened is a failed write.</summary>
    /// <param name="path">The full path.</param>
    /// <param name="maxBytes">The largest size of a file, unless a single write is larger.</param>
    /// <param name="maxFiles">How many files are kept, the current one included.</param>
    public RotatingFileSink(string path, long maxBytes, int maxFiles)
    {
        _path = path;
        _maxBytes = maxBytes;
        _maxFiles = maxFiles;
    }

    /// <inheritdoc/>
    public string Name => _path;

    /// <inheritdoc/>
    public int PreferredBytes => (int)Math.Min(64 * 1024, _maxBytes);

    /// <inheritdoc/>
    public void Write(ReadOnlySpan<byte> lines)
    {
        try
        {
            var file = _file ??= OpenFirst();
            // A device or pipe has no length and is not renamed.
            if (file.CanSeek && file.Length > 0 && file.Length + lines.Length > _maxBytes)
            {
                file = Rotate();
            }

            if (_endsInMidLine)
            {
                // The disk was full in the middle of a line; the next line must not become part of it.
                file.Write("\n"u8);
            }

            _endsInMidLine = true;
            file.Write(lines);
            _endsInMidLine = false;
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            // The next write opens it again, because the file may have been deleted, or its disk mounted elsewhere.
            Close();
            throw exception as IOException ?? new IOException(exception.Message, exception);
        }
    }

    /// <inheritdoc/>
    public void Dispose() => Close();

    private FileStream Rotate()
    {
        Close();
        File.Delete(Aside(_maxFiles - 1));
        for (var i = _maxFiles - 2; i >= 0; i--)
        {
            if (File.Exists(Aside(i)))
            {
                File.Move(Aside(i), Aside(i + 1), overwrite: true);
            }
        }

        _endsInMidLine = false;
        return _file = Open();
    }

    private string Aside(int number) => number == 0 ? _path : string.Create(CultureInfo.InvariantCulture, $"{_path}.{number}");

    /// <summary>Opens the file, and removes other users' rights from older files that an earlier version renamed.</summary>
    private FileStream OpenFirst()
    {
        for (var i = 1; i < _maxFiles && File.Exists(Aside(i)); i++)
        {
            OwnerOnlyFile.Narrow(Aside(i));
        }

        return Open();
    }

    // No buffer of its own: a write has many lines, and afterwards they must be in the file.
    private FileStream Open() => OwnerOnlyFile.Open(_path, FileMode.Append, FileAccess.Write, FileShare.Read | FileShare.Delete);

    private void Close()
    {
        try
        {
            _file?.Dispose();
        }
        catch (IOException)
        {
            // Nothing is buffered, so nothing is lost.
        }

        _file = null;
    }
}
