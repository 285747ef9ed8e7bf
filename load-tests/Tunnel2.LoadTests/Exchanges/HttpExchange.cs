using System.Globalization;
using System.Text;
using Tunnel2.Http1;
using Tunnel2.LoadTests.Scenarios;
using Tunnel2.LoadTests.Statistics;
using Tunnel2.TestUtilities;

namespace Tunnel2.LoadTests.Exchanges;

/// <summary>A request and its answer over HTTP/1.1; the answer must have status 200 and exactly the expected body.</summary>
internal sealed class HttpExchange : Exchange
{
    private readonly byte[][] _heads;
    private readonly int _bodyLength;
    private readonly IBodyCheck _check;
    private readonly ResponseHeadParser _parser = new();
    private ChunkedDecoder _chunks = new(Http1Limits.Default);
    private byte[] _head = [];
    private long _bodyStart;
    private bool _inBody;
    private long _remaining;

    /// <summary>Makes one for a kind of request.</summary>
    /// <param name="request">The request; not a WebSocket.</param>
    /// <param name="heads">Its head for each target.</param>
    public HttpExchange(RequestTemplate request, byte[][] heads)
    {
        _heads = heads;
        _bodyLength = request.Kind == RequestKind.Echo ? request.Size : 0;
        _check = request.Kind == RequestKind.Events
            ? new EventsBody(request.Size)
            : new PatternBody(request.Size, request.Kind == RequestKind.Echo);
    }

    /// <inheritdoc/>
    public override int Produce(long offset, Span<byte> destination)
    {
        var produced = 0;
        if (offset < _head.Length)
        {
            produced = Math.Min(_head.Length - (int)offset, destination.Length);
            _head.AsSpan((int)offset, produced).CopyTo(destination);
        }

        var bodyOffset = (int)(offset + produced - _head.Length);
        var length = Math.Min(_bodyLength - bodyOffset, destination.Length - produced);
        if (bodyOffset >= 0 && length > 0)
        {
            PatternBytes.Fill(destination.Slice(produced, length), _bodyStart + bodyOffset);
            produced += length;
        }

        return produced;
    }

    /// <inheritdoc/>
    protected override void OnBegin(long index, int target)
    {
        _head = _heads[target];
        _bodyStart = PatternBody.StartOf(index);
        _check.Begin(index);
        _parser.Reset(_bodyLength > 0 ? KnownMethod.Post : KnownMethod.Get);
        _inBody = false;
    }

    /// <inheritdoc/>
    protected override ExchangeStatus OnReceive(ReadOnlySpan<byte> bytes, out int consumed)
    {
        consumed = 0;
        while (!_inBody)
        {
            var status = _parser.Parse(bytes[consumed..], out var length);
            if (status == ParseStatus.NeedMore)
            {
                return ExchangeStatus.NeedMore;
            }

            if (status == ParseStatus.Invalid)
            {
                return Fail(FailureKind.Malformed, _parser.Error.ToString());
            }

            if (_parser.StatusCode != 200 && !_parser.IsInterim)
            {
                return Fail(FailureKind.WrongStatus, Describe(bytes[consumed..]));
            }

            consumed += length;
            if (_parser.IsInterim)
            {
                _parser.Reset(_bodyLength > 0 ? KnownMethod.Post : KnownMethod.Get);
            }
            else
            {
                BeginBody();
            }
        }

        var result = _parser.BodyKind switch
        {
            BodyKind.Chunked => TakeChunks(bytes, ref consumed),
            _ => TakePlain(bytes, ref consumed),
        };
        return result == ExchangeStatus.Done && consumed < bytes.Length ? Fail(FailureKind.WrongBody, "bytes behind the end") : result;
    }

    /// <inheritdoc/>
    protected override ExchangeStatus OnEnd() =>
        _inBody && _parser.BodyKind == BodyKind.UntilClose ? Complete() : Fail(FailureKind.Truncated);

    private void BeginBody()
    {
        _inBody = true;
        _remaining = _parser.BodyKind switch
        {
            BodyKind.Length => _parser.ContentLength!.Value,
            BodyKind.UntilClose => long.MaxValue,
            _ => 0,
        };
        if (_parser.BodyKind == BodyKind.Chunked)
        {
            _chunks.Reset();
        }
    }

    private ExchangeStatus TakePlain(ReadOnlySpan<byte> bytes, ref int consumed)
    {
        var length = (int)Math.Min(_remaining, bytes.Length - consumed);
        if (!Check(bytes.Slice(consumed, length)))
        {
            return ExchangeStatus.Failed;
        }

        consumed += length;
        _remaining -= length;
        return _remaining == 0 ? Complete() : ExchangeStatus.NeedMore;
    }

    private ExchangeStatus TakeChunks(ReadOnlySpan<byte> bytes, ref int consumed)
    {
        while (true)
        {
            var status = _chunks.Decode(bytes[consumed..], out var taken, out var offset, out var length);
            if (status == ChunkedStatus.Data && !Check(bytes.Slice(consumed + offset, length)))
            {
                return ExchangeStatus.Failed;
            }

            consumed += taken;
            switch (status)
            {
                case ChunkedStatus.NeedMore:
                    return ExchangeStatus.NeedMore;
                case ChunkedStatus.Done:
                    return Complete();
                case ChunkedStatus.Invalid:
                    return Fail(FailureKind.Malformed, _chunks.Error.ToString());
            }
        }
    }

    private bool Check(ReadOnlySpan<byte> bytes)
    {
        BodyBytes += bytes.Length;
        var failure = _check.Take(bytes);
        if (failure != FailureKind.None)
        {
            Fail(failure);
        }

        return failure == FailureKind.None;
    }

    private ExchangeStatus Complete()
    {
        if (!_check.IsComplete)
        {
            return Fail(FailureKind.Truncated, "a complete message, but less than was asked for");
        }

        KeepAlive = _parser.KeepAlive;
        return ExchangeStatus.Done;
    }

    /// <summary>The status with the tunnel's own word for it, such as <c>503 agent-offline</c>.</summary>
    private string Describe(ReadOnlySpan<byte> head)
    {
        var status = _parser.StatusCode.ToString(CultureInfo.InvariantCulture);
        foreach (ref readonly var field in _parser.Fields)
        {
            if (Ascii.EqualsIgnoreCase(field.Name(head), "tunnel2-error"u8))
            {
                return $"{status} {Encoding.ASCII.GetString(field.Value(head))}";
            }
        }

        return status;
    }
}
