using System.Buffers;
using System.Globalization;
using System.Net.Sockets;
using System.Text;
using Microsoft.Win32.SafeHandles;
using Tunnel2.Http1;

namespace Tunnel2.Client.Core.Files;

/// <summary>One connection to the file server: HTTP/1.1, one request after another, each within limits of bytes and time.</summary>
internal sealed class FileConnection
{
    private const int MaxHead = 64 * 1024;
    private const int PieceLength = 64 * 1024;

    /// <summary>Longer than the agent keeps a connection.</summary>
    private static readonly TimeSpan _patience = TimeSpan.FromMinutes(2);

    private static readonly TimeSpan _longestWait = TimeSpan.FromSeconds(5);
    private static readonly Http1Limits _limits = new() { MaxHeadBytes = MaxHead, MaxRequestLineBytes = MaxHead / 2 };

    private readonly RequestHeadParser _parser = new(_limits);
    private readonly byte[] _buffer = new byte[MaxHead];
    private readonly Stream _connection;
    private readonly FileFinder _finder;
    private readonly bool _lists;
    private readonly SemaphoreSlim _files;
    private readonly TimeProvider _time;
    private int _filled;

    /// <param name="connection">The connection.</param>
    /// <param name="finder">Finds files.</param>
    /// <param name="lists">Whether folders are listed.</param>
    /// <param name="files">Counts files that are open.</param>
    /// <param name="time">The clock.</param>
    public FileConnection(Stream connection, FileFinder finder, bool lists, SemaphoreSlim files, TimeProvider time)
    {
        _connection = connection;
        _finder = finder;
        _lists = lists;
        _files = files;
        _time = time;
    }

    /// <summary>Serves until the agent ends the connection, or takes too long.</summary>
    public async Task RunAsync(CancellationToken stop)
    {
        try
        {
            while (await ServeOneAsync(stop).ConfigureAwait(false))
            {
            }
        }
        catch (Exception exception)
            when (exception is IOException or OperationCanceledException or SocketException or ObjectDisposedException)
        {
            // The agent has gone, the visitor takes nothing, or the program ends.
        }
    }

    private async Task<bool> ServeOneAsync(CancellationToken stop)
    {
        _parser.Reset();
        int consumed;
        while (true)
        {
            ParseStatus status = ParseStatus.NeedMore;
            consumed = 0;
            if (_filled > 0)
            {
                status = _parser.Parse(_buffer.AsSpan(0, _filled), out consumed);
            }

            if (status == ParseStatus.Done)
            {
                break;
            }

            if (status == ParseStatus.Invalid || _filled == _buffer.Length)
            {
                await WriteAsync(
                    Text(400, "This is not a request."), _parser.KnownMethod == KnownMethod.Head, keeps: false, stop).ConfigureAwait(false);
                return false;
            }

            int received = await ReceiveAsync(stop).ConfigureAwait(false);
            if (received == 0)
            {
                return false;
            }

            _filled += received;
        }

        // The agent passes on what visitors send; what follows a body is not looked for.
        bool keeps = _parser.KeepAlive && _parser.BodyKind == BodyKind.None;
        string method = Encoding.ASCII.GetString(_parser.Method.Of(_buffer));
        string target = Encoding.Latin1.GetString(_parser.PathAndQuery.Of(_buffer));
        FileConditions conditions = ReadConditions();
        _buffer.AsSpan(consumed, _filled - consumed).CopyTo(_buffer);
        _filled -= consumed;
        bool isHead = method == "HEAD";
        return method is "GET" or "HEAD"
            ? await AnswerAsync(target, conditions, isHead, keeps, stop).ConfigureAwait(false)
            : await WriteAsync(
                Text(405, "Only GET and HEAD.") with { Fields = "Allow: GET, HEAD\r\n" }, isHead, keeps, stop).ConfigureAwait(false);
    }

    private async Task<bool> AnswerAsync(string target, FileConditions conditions, bool isHead, bool keeps, CancellationToken stop)
    {
        int mark = target.IndexOf('?', StringComparison.Ordinal);
        string query = mark < 0 ? "" : target[mark..];
        FileFinding found = _finder.Find(target[..^query.Length]);
        switch (found.Kind)
        {
            case FileFindingKind.Elsewhere:
                Answer moved = Text(302, "It is a folder.") with { Fields = $"Location: {found.Path}{query}\r\n" };
                return await WriteAsync(moved, isHead, keeps, stop).ConfigureAwait(false);
            case FileFindingKind.Folder when _lists:
                return await WriteAsync(List(found.Path), isHead, keeps, stop).ConfigureAwait(false);
            case FileFindingKind.File:
                break;
            default:
                return await WriteAsync(Text(404, "There is nothing here."), isHead, keeps, stop).ConfigureAwait(false);
        }

        using var limit = new CancellationTokenSource(_longestWait, _time);
        using var either = CancellationTokenSource.CreateLinkedTokenSource(limit.Token, stop);
        try
        {
            await _files.WaitAsync(either.Token).ConfigureAwait(false);
        }
        catch (OperationCanceledException) when (!stop.IsCancellationRequested)
        {
            Answer busy = Text(503, "Too many files are open.") with { Fields = "Retry-After: 5\r\n" };
            return await WriteAsync(busy, isHead, keeps, stop).ConfigureAwait(false);
        }

        try
        {
            return await SendFileAsync(found.Path, conditions, isHead, keeps, stop).ConfigureAwait(false);
        }
        finally
        {
            _files.Release();
        }
    }

    private async Task<bool> SendFileAsync(string path, FileConditions conditions, bool isHead, bool keeps, CancellationToken stop)
    {
        SafeFileHandle? file = null;
        DateTime modified;
        long length;
        try
        {
            // What has no length is not opened: a pipe would hold up the thread until another process writes to it.
            var looked = new FileInfo(path);
            file = looked.Length > 0
                ? File.OpenHandle(
                    path, FileMode.Open, FileAccess.Read, FileShare.ReadWrite | FileShare.Delete,
                    FileOptions.Asynchronous | FileOptions.SequentialScan)
                : null;
            length = file is null ? 0 : RandomAccess.GetLength(file);
            modified = file is null ? looked.LastWriteTimeUtc : File.GetLastWriteTimeUtc(file);
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            file?.Dispose();
            bool isGone = exception is FileNotFoundException or DirectoryNotFoundException or UnauthorizedAccessException;
            Answer failed = isGone ? Text(404, "There is nothing here.") : Text(503, "The file cannot be read now.");
            return await WriteAsync(failed, isHead, keeps, stop).ConfigureAwait(false);
        }

        using (file)
        {
            string tag = string.Create(CultureInfo.InvariantCulture, $"\"{modified.Ticks:x}-{length:x}\"");
            DateTime seconds = new(modified.Ticks - (modified.Ticks % TimeSpan.TicksPerSecond), DateTimeKind.Utc);
            var (status, offset, count) = conditions.Decide(tag, seconds, length, isHead);

            // RFC 9110, 8.8.2.1: no answer says that its file was modified after the answer's own date.
            DateTime now = _time.GetUtcNow().UtcDateTime;
            string fields = $"ETag: {tag}\r\nLast-Modified: {Show(seconds < now ? seconds : now)}\r\n"
                + "Accept-Ranges: bytes\r\nCache-Control: no-cache\r\n";
            fields += status switch
            {
                206 => string.Create(CultureInfo.InvariantCulture, $"Content-Range: bytes {offset}-{offset + count - 1}/{length}\r\n"),
                416 => string.Create(CultureInfo.InvariantCulture, $"Content-Range: bytes */{length}\r\n"),
                _ => "",
            };
            if (status is 412 or 416)
            {
                return await WriteAsync(Text(status, Phrase(status)) with { Fields = fields }, isHead, keeps, stop).ConfigureAwait(false);
            }

            var answer = new Answer(status, MediaTypes.Of(path), count) { Fields = fields };
            await WriteAsync(answer, isHead, keeps, stop).ConfigureAwait(false);
            if (isHead || status == 304 || file is null)
            {
                return keeps;
            }

            // A file that became shorter ends the connection: what was cut must not look complete.
            return await SendAsync(file, offset, count, stop).ConfigureAwait(false) && keeps;
        }
    }

    private async Task<bool> SendAsync(SafeFileHandle file, long offset, long count, CancellationToken stop)
    {
        byte[] piece = ArrayPool<byte>.Shared.Rent(PieceLength);
        try
        {
            while (count > 0)
            {
                int read = await RandomAccess.ReadAsync(
                    file, piece.AsMemory(0, (int)Math.Min(piece.Length, count)), offset, stop).ConfigureAwait(false);
                if (read == 0)
                {
                    return false;
                }

                await WriteAsync(piece.AsMemory(0, read), stop).ConfigureAwait(false);
                offset += read;
                count -= read;
            }

            return true;
        }
        finally
        {
            ArrayPool<byte>.Shared.Return(piece);
        }
    }

    private Answer List(string folder)
    {
        try
        {
            byte[] page = FileListing.Make(_finder, folder);
            return new Answer(200, "text/html; charset=utf-8", page.Length)
            {
                Body = page,
                Fields = "Cache-Control: no-cache\r\nContent-Security-Policy: default-src 'none'; style-src 'unsafe-inline'\r\n",
            };
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            return Text(404, "There is nothing here.");
        }
    }

    private static Answer Text(int status, string words)
    {
        byte[] body = Encoding.ASCII.GetBytes(words + "\n");
        return new Answer(status, "text/plain; charset=utf-8", body.Length) { Body = body };
    }

    /// <summary>Writes the head, and the body where it is at hand.</summary>
    /// <returns>Whether the connection is kept.</returns>
    private async Task<bool> WriteAsync(Answer answer, bool isHead, bool keeps, CancellationToken stop)
    {
        var head = new StringBuilder();
        head.Append(CultureInfo.InvariantCulture, $"HTTP/1.1 {answer.Status} {Phrase(answer.Status)}\r\n")
            .Append(CultureInfo.InvariantCulture, $"Date: {Show(_time.GetUtcNow().UtcDateTime)}\r\n")
            .Append(answer.Fields)
            .Append("X-Content-Type-Options: nosniff\r\n")
            .Append("Connection: ").Append(keeps ? "keep-alive" : "close").Append("\r\n");
        if (answer.Status != 304)
        {
            head.Append("Content-Type: ").Append(answer.ContentType).Append("\r\n")
                .Append(CultureInfo.InvariantCulture, $"Content-Length: {answer.Length}\r\n");
        }

        byte[] bytes = Encoding.Latin1.GetBytes(head.Append("\r\n").ToString());
        await WriteAsync(isHead ? bytes : [.. bytes, .. answer.Body], stop).ConfigureAwait(false);
        return keeps;
    }

    /// <summary>An agent that takes nothing for so long is one less.</summary>
    private async ValueTask WriteAsync(ReadOnlyMemory<byte> bytes, CancellationToken stop)
    {
        using var limit = new CancellationTokenSource(_patience, _time);
        using var either = CancellationTokenSource.CreateLinkedTokenSource(limit.Token, stop);
        await _connection.WriteAsync(bytes, either.Token).ConfigureAwait(false);
    }

    private async ValueTask<int> ReceiveAsync(CancellationToken stop)
    {
        using var limit = new CancellationTokenSource(_patience, _time);
        using var either = CancellationTokenSource.CreateLinkedTokenSource(limit.Token, stop);
        return await _connection.ReadAsync(_buffer.AsMemory(_filled), either.Token).ConfigureAwait(false);
    }

    private FileConditions ReadConditions() => new()
    {
        IfMatch = Find("If-Match"u8),
        IfNoneMatch = Find("If-None-Match"u8),
        IfModifiedSince = Find("If-Modified-Since"u8),
        IfUnmodifiedSince = Find("If-Unmodified-Since"u8),
        IfRange = Find("If-Range"u8),
        Range = Find("Range"u8),
    };

    /// <summary>
    /// All lines of a field, as a list; null: there is none. A field that is none and is given twice so becomes neither a range nor a date,
    /// which has no effect: of two answers that would suit one of them each, the whole file suits both.
    /// </summary>
    private string? Find(ReadOnlySpan<byte> name)
    {
        string? list = null;
        foreach (ref readonly var field in _parser.Fields)
        {
            if (Ascii.EqualsIgnoreCase(field.Name(_buffer), name))
            {
                string line = Encoding.Latin1.GetString(field.Value(_buffer));
                list = list is null ? line : $"{list}, {line}";
            }
        }

        return list;
    }

    private static string Show(DateTime time) => time.ToString("R", CultureInfo.InvariantCulture);

    private static string Phrase(int status) => status switch
    {
        200 => "OK",
        206 => "Partial Content",
        304 => "Not Modified",
        302 => "Found",
        400 => "Bad Request",
        404 => "Not Found",
        405 => "Method Not Allowed",
        412 => "Precondition Failed",
        416 => "Range Not Satisfiable",
        _ => "Service Unavailable",
    };

    /// <summary>An answer's head, and the body where it is not a file.</summary>
    private sealed record Answer(int Status, string ContentType, long Length)
    {
        public string Fields { get; init; } = "";

        public byte[] Body { get; init; } = [];
    }
}
