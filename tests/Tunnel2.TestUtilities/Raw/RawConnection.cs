using System.Net.Security;
using System.Net.Sockets;
using System.Text;

namespace Tunnel2.TestUtilities;

/// <summary>
/// A connection on which a test sends exact bytes and reads what comes, with HTTP/1.1 framing where it asks for it. One reader and one
/// writer at a time.
/// </summary>
public class RawConnection : IAsyncDisposable
{
    private const int ReadLength = 16 * 1024;

    /// <summary>For so long no test waits for a byte: it would wait for ever, and no report would name it.</summary>
    private static readonly TimeSpan _silence = TimeSpan.FromMinutes(3);

    private readonly Stream _stream;
    private byte[] _buffer = new byte[ReadLength];
    private int _start;
    private int _end;

    /// <param name="socket">A connected socket; owned from now on.</param>
    /// <param name="stream">Its TLS stream, or null for plain TCP.</param>
    public RawConnection(Socket socket, SslStream? stream = null)
    {
        Socket = socket;
        _stream = stream is null ? new NetworkStream(socket, ownsSocket: false) : stream;
    }

    /// <summary>The socket.</summary>
    public Socket Socket { get; }

    /// <summary>How the other side ended the connection, as far as reads have seen it.</summary>
    public ConnectionEnding Ending { get; private set; }

    /// <summary>Sends <paramref name="bytes"/>.</summary>
    public Task WriteAsync(ReadOnlyMemory<byte> bytes, CancellationToken cancellationToken = default) =>
        _stream.WriteAsync(bytes, cancellationToken).AsTask();

    /// <summary>Sends <paramref name="text"/> as Latin-1.</summary>
    public Task WriteAsync(string text, CancellationToken cancellationToken = default) =>
        WriteAsync(Encoding.Latin1.GetBytes(text), cancellationToken);

    /// <summary>Sends <paramref name="text"/> in pieces of <paramref name="pieceLength"/> bytes, each its own write.</summary>
    public async Task WriteInPiecesAsync(string text, int pieceLength, CancellationToken cancellationToken = default)
    {
        var bytes = Encoding.Latin1.GetBytes(text);
        for (var i = 0; i < bytes.Length; i += pieceLength)
        {
            await WriteAsync(bytes.AsMemory(i, Math.Min(pieceLength, bytes.Length - i)), cancellationToken).ConfigureAwait(false);
        }
    }

    /// <summary>
    /// Reads what is there, waiting for at least one byte; 0 when the other side has ended, however it did (<see cref="Ending"/>).
    /// </summary>
    public async ValueTask<int> ReadAsync(Memory<byte> destination, CancellationToken cancellationToken = default)
    {
        if (_start == _end && !await FillAsync(cancellationToken).ConfigureAwait(false))
        {
            return 0;
        }

        var count = Math.Min(destination.Length, _end - _start);
        _buffer.AsMemory(_start, count).CopyTo(destination);
        _start += count;
        return count;
    }

    /// <summary>Reads exactly <paramref name="count"/> bytes.</summary>
    /// <exception cref="RawConnectionEndedException">The other side ended before.</exception>
    public async Task<byte[]> ReadExactlyAsync(int count, CancellationToken cancellationToken = default)
    {
        var bytes = new byte[count];
        for (var done = 0; done < count;)
        {
            var read = await ReadAsync(bytes.AsMemory(done), cancellationToken).ConfigureAwait(false);
            if (read == 0)
            {
                throw new RawConnectionEndedException(Ending, Encoding.Latin1.GetString(bytes, 0, done));
            }

            done += read;
        }

        return bytes;
    }

    /// <summary>Reads until the other side ends; <see cref="Ending"/> says how.</summary>
    public async Task<byte[]> ReadToEndAsync(CancellationToken cancellationToken = default)
    {
        using var content = new MemoryStream();
        var buffer = new byte[ReadLength];
        while (await ReadAsync(buffer, cancellationToken).ConfigureAwait(false) is > 0 and var count)
        {
            content.Write(buffer, 0, count);
        }

        return content.ToArray();
    }

    /// <summary>Reads the head of an HTTP/1.1 message; what follows stays for later reads.</summary>
    /// <exception cref="RawConnectionEndedException">The other side ended before the empty line.</exception>
    public async Task<RawHttpHead> ReadHeadAsync(CancellationToken cancellationToken = default) =>
        new(await ReadThroughAsync("\r\n\r\n", cancellationToken).ConfigureAwait(false));

    /// <summary>Reads a line with its CRLF, and returns it without.</summary>
    /// <exception cref="RawConnectionEndedException">The other side ended before the line did.</exception>
    public async Task<string> ReadLineAsync(CancellationToken cancellationToken = default) =>
        (await ReadThroughAsync("\r\n", cancellationToken).ConfigureAwait(false))[..^2];

    /// <summary>Reads through the first occurrence of <paramref name="delimiter"/>.</summary>
    /// <exception cref="RawConnectionEndedException">The other side ended before it came.</exception>
    public async Task<string> ReadThroughAsync(string delimiter, CancellationToken cancellationToken = default)
    {
        var bytes = Encoding.Latin1.GetBytes(delimiter);
        while (true)
        {
            var index = _buffer.AsSpan(_start, _end - _start).IndexOf(bytes);
            if (index >= 0)
            {
                var text = Encoding.Latin1.GetString(_buffer, _start, index + bytes.Length);
                _start += index + bytes.Length;
                return text;
            }

            if (!await FillAsync(cancellationToken).ConfigureAwait(false))
            {
                throw new RawConnectionEndedException(Ending, Encoding.Latin1.GetString(_buffer, _start, _end - _start));
            }
        }
    }

    /// <summary>A reader for the body that follows <paramref name="head"/>.</summary>
    /// <param name="head">The head that was read just before.</param>
    /// <param name="requestMethod">For a response, the method it answers (no body after HEAD).</param>
    public RawBodyReader OpenBody(RawHttpHead head, string requestMethod = "GET") => new(this, head, requestMethod);

    /// <summary>Reads the body that follows <paramref name="head"/>, as far as it comes.</summary>
    public async Task<RawHttpBody> ReadBodyAsync(
        RawHttpHead head, string requestMethod = "GET", CancellationToken cancellationToken = default)
    {
        var reader = OpenBody(head, requestMethod);
        using var content = new MemoryStream();
        var buffer = new byte[ReadLength];
        while (await reader.ReadAsync(buffer, cancellationToken).ConfigureAwait(false) is > 0 and var count)
        {
            content.Write(buffer, 0, count);
        }

        return new RawHttpBody(content.ToArray(), reader.Ending, reader.Trailers);
    }

    /// <summary>Waits until the other side ends, and says how. Bytes that come before are thrown away.</summary>
    public async Task<ConnectionEnding> WaitForEndAsync(CancellationToken cancellationToken = default)
    {
        await ReadToEndAsync(cancellationToken).ConfigureAwait(false);
        return Ending;
    }

    /// <summary>Ends this side's direction (FIN; over TLS after a close_notify).</summary>
    public async Task ShutdownSendAsync()
    {
        if (_stream is SslStream tls)
        {
            await tls.ShutdownAsync().ConfigureAwait(false);
        }

        Socket.Shutdown(SocketShutdown.Send);
    }

    /// <summary>Ends in order: sends FIN, waits until the other side has ended too, and closes.</summary>
    public async Task CloseAsync(CancellationToken cancellationToken = default)
    {
        try
        {
            await ShutdownSendAsync().ConfigureAwait(false);
        }
        catch (Exception e) when (e is IOException or SocketException)
        {
            // The other side is gone already.
        }

        await WaitForEndAsync(cancellationToken).ConfigureAwait(false);
        Socket.Dispose();
    }

    /// <summary>Resets the connection (RST); bytes still under way may be lost.</summary>
    public void Reset()
    {
        Socket.LingerState = new LingerOption(true, 0);
        Socket.Close();
    }

    /// <summary>Closes the socket.</summary>
    public async ValueTask DisposeAsync()
    {
        GC.SuppressFinalize(this);
        if (_stream is not SslStream)
        {
            await _stream.DisposeAsync().ConfigureAwait(false);
        }

        Socket.Dispose();
    }

    private async ValueTask<bool> FillAsync(CancellationToken cancellationToken)
    {
        if (Ending != ConnectionEnding.Open)
        {
            return false;
        }

        if (_start > 0)
        {
            _buffer.AsSpan(_start, _end - _start).CopyTo(_buffer);
            _end -= _start;
            _start = 0;
        }

        if (_end == _buffer.Length)
        {
            Array.Resize(ref _buffer, _buffer.Length * 2);
        }

        try
        {
            var reading = _stream.ReadAsync(_buffer.AsMemory(_end), cancellationToken);
            var count = reading.IsCompleted
                ? await reading.ConfigureAwait(false)
                : await reading.AsTask().WaitAsync(_silence, CancellationToken.None).ConfigureAwait(false);
            _end += count;
            Ending = count > 0 ? ConnectionEnding.Open : ConnectionEnding.Fin;
            return count > 0;
        }
        catch (IOException e) when (e.InnerException is SocketException)
        {
            Ending = ConnectionEnding.Reset;
            return false;
        }
        catch (IOException) when (_stream is SslStream)
        {
            // FIN without close_notify: TLS calls it an error, for the connection it is the end.
            Ending = ConnectionEnding.Fin;
            return false;
        }
    }
}
