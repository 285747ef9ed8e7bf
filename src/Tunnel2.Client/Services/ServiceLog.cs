using System.Text;

namespace Tunnel2.Client.Services;

/// <summary>
/// A log of bounded size for a service whose manager keeps none: when the file is full, it becomes the former one, in whose place it is.
/// Thread-safe. A line that cannot be written is lost.
/// </summary>
internal sealed class ServiceLog : TextWriter
{
    private readonly Lock _gate = new();
    private readonly string _path;
    private readonly long _mostBytes;
    private FileStream? _file;

    /// <param name="path">The file; the former one has <c>.1</c> after its name.</param>
    /// <param name="mostBytes">How large each of the two becomes, about.</param>
    public ServiceLog(string path, long mostBytes = 10 * 1024 * 1024)
    {
        _path = path;
        _mostBytes = mostBytes;
    }

    /// <inheritdoc/>
    public override Encoding Encoding { get; } = new UTF8Encoding(encoderShouldEmitUTF8Identifier: false);

    /// <inheritdoc/>
    public override void Write(char value) => Write([value]);

    /// <inheritdoc/>
    public override void Write(string? value) => Write(value.AsSpan());

    /// <inheritdoc/>
    public override void Write(char[] buffer, int index, int count) => Write(buffer.AsSpan(index, count));

    /// <inheritdoc/>
    public override void Write(ReadOnlySpan<char> buffer)
    {
        byte[] bytes = new byte[Encoding.GetMaxByteCount(buffer.Length)];
        int length = Encoding.GetBytes(buffer, bytes);
        lock (_gate)
        {
            try
            {
                Open().Write(bytes.AsSpan(0, length));
            }
            catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
            {
                _file?.Dispose();
                _file = null;
            }
        }
    }

    /// <inheritdoc/>
    public override void WriteLine(string? value) => Write(value + "\n");

    /// <inheritdoc/>
    protected override void Dispose(bool disposing)
    {
        lock (_gate)
        {
            _file?.Dispose();
            _file = null;
        }

        base.Dispose(disposing);
    }

    private FileStream Open()
    {
        if (_file is { } open && open.Length >= _mostBytes)
        {
            open.Dispose();
            _file = null;
            File.Move(_path, _path + ".1", overwrite: true);
        }

        return _file ??= new FileStream(
            _path, FileMode.Append, FileAccess.Write, FileShare.ReadWrite | FileShare.Delete, bufferSize: 0);
    }
}
