using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.FlowControl;
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
        HeadReceived = false;
        Window = new ReceiveWindow(window);
        Credit = new SendCredit(window);
    }

    /// <summary>The table of blocks in "HTTP over a stream".</summary>
    public ProtocolError ReceiveBlock(bool isEntry, HeaderBlock block, int bodyLength, bool ends)
    {
        var allowed = block.Kind switch
        {
            HeaderBlockKind.Request => !isEntry && !HeadReceived,
            HeaderBlockKind.Trailers => HeadReceived && ends && bodyLength == 0,
            _ when !isEntry || HeadReceived => false,
            _ when block.IsInterim => !ends && bodyLength == 0,
            _ => true,
        };
        HeadReceived |= allowed && !block.IsInterim;
        return allowed ? ProtocolError.None : ProtocolError.UnexpectedHeaderBlock;
    }
}
