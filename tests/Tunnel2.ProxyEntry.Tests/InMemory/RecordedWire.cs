using Tunnel2.Multiplexing.Tests.InMemory;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;

namespace Tunnel2.ProxyEntry.Tests.InMemory;

/// <summary>The resets that ProxyEntry has said on an uplink, as they are on the wire.</summary>
internal sealed class RecordedWire
{
    private readonly Dictionary<StreamId, (StreamResetReason Reason, StreamResetDetail Detail)> _resets = [];
    private readonly TestEngine _engine;

    public RecordedWire(TestEngine engine, InMemoryTransport transport)
    {
        _engine = engine;
        transport.OnSend = OnSend;
    }

    /// <summary>Waits until a stream was reset.</summary>
    public async Task<(StreamResetReason Reason, StreamResetDetail Detail)> ResetOfAsync(StreamId id)
    {
        await _engine.UntilAsync(() => _resets.ContainsKey(id), "ProxyEntry resets the stream");
        return _resets[id];
    }

    /// <summary>A batch holds whole frames.</summary>
    private void OnSend(ReadOnlyMemory<byte> batch)
    {
        var left = batch.Span;
        while (!left.IsEmpty)
        {
            Assert.Equal(ProtocolError.None, FrameHeader.TryRead(left, out var header));
            if (header.Type == FrameType.Rst)
            {
                var reason = ControlFrames.ReadRst(left.Slice(FrameHeader.Size, header.Length), out var detail);
                _resets.Add(header.Stream, (reason, detail));
            }

            left = left[(FrameHeader.Size + header.Length)..];
        }
    }
}
