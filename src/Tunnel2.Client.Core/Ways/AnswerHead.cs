using System.Text;
using Tunnel2.Http1;
using Tunnel2.Multiplexing.Transports;
using Tunnel2.Protocol;

namespace Tunnel2.Client.Core.Ways;

/// <summary>How reading the head of an HTTP answer ended.</summary>
internal enum AnswerHeadStatus
{
    /// <summary>It is complete.</summary>
    Complete,

    /// <summary>The peer closed the connection before.</summary>
    Closed,

    /// <summary>It is no HTTP, or breaks HTTP.</summary>
    Malformed,

    /// <summary>It is longer than any that has a purpose here.</summary>
    TooLong,
}

/// <summary>
/// The head of the answer to one request, of a proxy or of a server that is asked for a WebSocket. Bounded: 16 KiB and 100 fields, with
/// at most a few interim answers before it. Not thread-safe.
/// </summary>
internal sealed class AnswerHead
{
    private const int MaxBytes = 16 * 1024;
    private const int MaxFields = 100;
    private const int MaxInterim = 4;

    /// <summary>How much of a peer's text is shown.</summary>
    private const int ShownText = 60;

    private readonly ResponseHeadParser _parser = new(new Http1Limits { MaxHeadBytes = MaxBytes, MaxFields = MaxFields });
    private readonly byte[] _buffer = new byte[MaxBytes];
    private int _start;
    private int _end;
    private int _rest;

    /// <summary>The status; 0 before the head is complete.</summary>
    public int StatusCode => _parser.StatusCode;

    /// <summary>Status and reason, for people, such as <c>403 Forbidden</c>.</summary>
    public string StatusText =>
        PlainText.Clean($"{StatusCode} {Encoding.Latin1.GetString(_parser.Reason.Of(Head))}".TrimEnd(), ShownText);

    /// <summary>The first bytes that came, of any kind.</summary>
    public ReadOnlySpan<byte> FirstBytes => _buffer.AsSpan(0, _end);

    /// <summary>What came after the head.</summary>
    public ReadOnlyMemory<byte> Rest => _buffer.AsMemory(_rest, _end - _rest);

    private ReadOnlySpan<byte> Head => _buffer.AsSpan(_start, _end - _start);

    /// <summary>Reads the head.</summary>
    /// <param name="transport">The connection, on which the request was sent.</param>
    /// <param name="method">The request's method.</param>
    /// <exception cref="IOException">The connection failed or was aborted.</exception>
    public async Task<AnswerHeadStatus> ReadAsync(IByteTransport transport, KnownMethod method)
    {
        _parser.Reset(method);
        var interim = 0;
        while (true)
        {
            if (_end > _start)
            {
                var status = _parser.Parse(Head, out var consumed);
                if (status == ParseStatus.Done && _parser.IsInterim && interim++ < MaxInterim)
                {
                    _start += consumed;
                    _parser.Reset(method);
                    continue;
                }

                if (status == ParseStatus.Done)
                {
                    _rest = _start + consumed;
                    return AnswerHeadStatus.Complete;
                }

                if (status == ParseStatus.Invalid)
                {
                    return _parser.Error is Http1Error.HeadTooLarge or Http1Error.TooManyFields
                        ? AnswerHeadStatus.TooLong
                        : AnswerHeadStatus.Malformed;
                }
            }

            if (_end == _buffer.Length)
            {
                return AnswerHeadStatus.TooLong;
            }

            var received = await transport.ReceiveAsync(_buffer.AsMemory(_end)).ConfigureAwait(false);
            if (received == 0)
            {
                return AnswerHeadStatus.Closed;
            }

            _end += received;
        }
    }

    /// <summary>The values of a field, joined by commas; null: there is none.</summary>
    public string? Field(string name)
    {
        string? value = null;
        foreach (ref readonly var field in _parser.Fields)
        {
            if (Ascii.EqualsIgnoreCase(field.Name(Head), name))
            {
                var one = Encoding.Latin1.GetString(field.Value(Head));
                value = value is null ? one : $"{value}, {one}";
            }
        }

        return value;
    }
}
