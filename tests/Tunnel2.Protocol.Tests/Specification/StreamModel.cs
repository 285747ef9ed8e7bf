using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.FlowControl;
using Tunnel2.Protocol.Frames;
using Tunnel2.Protocol.Headers;

namespace Tunnel2.Protocol.Tests.Specification;

/// <summary>How a direction ended.</summary>
internal enum StreamEnd
{
    None,
    End,
    Rst,
}

/// <summary>One side's view of a slot: part of <see cref="UplinkModel"/>.</summary>
internal sealed class StreamModel
{
    private bool _upgradeRequested;
    private bool _upgraded;

    public ushort Generation { get; private set; }

    public StreamEnd Sent { get; set; }

    public StreamEnd Received { get; set; }

    public bool HeadReceived { get; private set; }

    public ReceiveWindow Window;

    public SendCredit Credit;

    public bool IsOver => Sent != StreamEnd.None && Received != StreamEnd.None;

    public void Open(ushort generation, int window)
    {
        Generation = generation;
        Sent = Received = StreamEnd.None;
        HeadReceived = _upgradeRequested = _upgraded = false;
        Window = new ReceiveWindow(window);
        Credit = new SendCredit(window);
    }

    /// <summary>Remembers of this side's own blocks what the rules for the peer's need.</summary>
    public void NoteHeads(FrameHeader header, ReadOnlySpan<byte> payload)
    {
        if (header.Type == FrameType.Headers)
        {
            Assert.Equal(ProtocolError.None, HeaderBlock.TrySplit(payload, out var bytes, out _));
            Assert.Equal(ProtocolError.None, HeaderBlock.TryRead(bytes, out var block));
            Note(block);
        }
    }

    /// <summary>The table of blocks in "HTTP over a stream".</summary>
    public ProtocolError ReceiveBlock(bool isEntry, ReadOnlySpan<byte> bytes, int bodyLength, bool ends)
    {
        var error = HeaderBlock.TryRead(bytes, out var block);
        if (error != ProtocolError.None)
        {
            return error;
        }

        var allowed = block.Kind switch
        {
            HeaderBlockKind.Request => !isEntry && !HeadReceived,
            HeaderBlockKind.Trailers => HeadReceived && !_upgraded && ends && bodyLength == 0,
            _ when !isEntry || HeadReceived => false,
            _ when block.IsInterim => !ends && bodyLength == 0,
            _ when block.Status == 101 => !ends && _upgradeRequested && block.Flags.HasFlag(HeaderBlockFlags.Upgrade),
            _ => true,
        };
        if (!allowed)
        {
            return ProtocolError.UnexpectedHeaderBlock;
        }

        HeadReceived |= !block.IsInterim;
        Note(block);
        return ProtocolError.None;
    }

    private void Note(HeaderBlock block)
    {
        _upgradeRequested |= block.Kind == HeaderBlockKind.Request && block.Flags.HasFlag(HeaderBlockFlags.Upgrade);
        _upgraded |= block.Kind == HeaderBlockKind.Response && block.Status == 101;
    }
}
