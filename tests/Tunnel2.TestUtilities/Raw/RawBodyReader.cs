using System.Globalization;

namespace Tunnel2.TestUtilities;

/// <summary>Reads the body of one HTTP/1.1 message piece by piece (framing: RFC 9112 section 6.3).</summary>
public sealed class RawBodyReader
{
    private readonly RawConnection _connection;
    private readonly bool _isChunked;
    private readonly List<KeyValuePair<string, string>> _trailers = [];

    /// <summary>Bytes left of the body or of the present chunk; -1: until the connection ends.</summary>
    private long _left;

    private bool _isInChunk;

    internal RawBodyReader(RawConnection connection, RawHttpHead head, string requestMethod)
    {
        _connection = connection;
        var isResponse = head.StartLine.StartsWith("HTTP/", StringComparison.Ordinal);
        var hasNoBody = isResponse && (requestMethod == "HEAD" || head.StatusCode is (>= 100 and < 200) or 204 or 304);
        _isChunked = !hasNoBody
            && head.All("Transfer-Encoding").Any(value => value.Contains("chunked", StringComparison.OrdinalIgnoreCase));
        _left = hasNoBody ? 0
            : _isChunked ? 0
            : head["Content-Length"] is { } length ? long.Parse(length, NumberStyles.None, CultureInfo.InvariantCulture)
            : isResponse ? -1
            : 0;
        Ending = !_isChunked && _left == 0 ? ConnectionEnding.Complete : ConnectionEnding.Open;
    }

    /// <summary>Open while there is more to come; then how the body ended.</summary>
    public ConnectionEnding Ending { get; private set; }

    /// <summary>The fields after the last chunk.</summary>
    public IReadOnlyList<KeyValuePair<string, string>> Trailers => _trailers;

    /// <summary>How many chunks have begun.</summary>
    public int Chunks { get; private set; }

    /// <summary>Reads what is there, waiting for at least one byte; 0 when the body has ended (<see cref="Ending"/>).</summary>
    public async ValueTask<int> ReadAsync(Memory<byte> destination, CancellationToken cancellationToken = default)
    {
        try
        {
            if (Ending == ConnectionEnding.Open && _isChunked && _left == 0)
            {
                await BeginChunkAsync(cancellationToken).ConfigureAwait(false);
            }
        }
        catch (RawConnectionEndedException e)
        {
            Ending = e.Ending;
        }

        if (Ending != ConnectionEnding.Open)
        {
            return 0;
        }

        var wanted = _left < 0 ? destination : destination[..(int)Math.Min(destination.Length, _left)];
        var count = await _connection.ReadAsync(wanted, cancellationToken).ConfigureAwait(false);
        if (count == 0)
        {
            var isUntilEnd = _left < 0 && _connection.Ending == ConnectionEnding.Fin;
            Ending = isUntilEnd ? ConnectionEnding.Complete : _connection.Ending;
        }
        else if (_left > 0)
        {
            _left -= count;
            Ending = _left == 0 && !_isChunked ? ConnectionEnding.Complete : Ending;
        }

        return count;
    }

    private async Task BeginChunkAsync(CancellationToken cancellationToken)
    {
        if (_isInChunk && await _connection.ReadLineAsync(cancellationToken).ConfigureAwait(false) is { Length: > 0 })
        {
            Ending = ConnectionEnding.Malformed;
            return;
        }

        var line = await _connection.ReadLineAsync(cancellationToken).ConfigureAwait(false);
        var size = line.Split(';')[0].Trim();
        if (!long.TryParse(size, NumberStyles.AllowHexSpecifier, CultureInfo.InvariantCulture, out _left) || _left < 0)
        {
            Ending = ConnectionEnding.Malformed;
            return;
        }

        _isInChunk = true;
        if (_left > 0)
        {
            Chunks++;
            return;
        }

        while (await _connection.ReadLineAsync(cancellationToken).ConfigureAwait(false) is { Length: > 0 } trailer)
        {
            _trailers.Add(RawHttpHead.ParseField(trailer));
        }

        Ending = ConnectionEnding.Complete;
    }
}
