using Tunnel2.Http2.Frames;
using Tunnel2.Multiplexing.Buffers;

namespace Tunnel2.Client.Core.Http2;

/// <summary>
/// One request on a connection to an HTTP/2 service, and its response. One producer sends, one consumer reads, and <see cref="Cancel"/>
/// may come from anywhere. The owner calls <see cref="Release"/> once, when neither is at work any more; the object is then used again.
/// </summary>
/// <remarks>All that is not a method for the owner belongs to the connection, whose gate guards it.</remarks>
internal sealed class Http2Stream
{
    private readonly Http2Connection _connection;

    public Http2Stream(Http2Connection connection, BufferPool buffers, bool inline)
    {
        _connection = connection;
        Inbox = new Http2Inbox(buffers);
        Readable = new Http2Signal(inline);
        Writable = new Http2Signal(inline);
    }

    /// <summary>Its number on the connection.</summary>
    public int Id { get; private set; }

    /// <summary>Why it failed, or none. For the owner, after <see cref="Http2ItemKind.Failed"/>.</summary>
    public Http2Failure Failure { get; set; }

    /// <summary>What has come.</summary>
    public Http2Inbox Inbox { get; }

    /// <summary>Something has come.</summary>
    public Http2Signal Readable { get; }

    /// <summary>There may be room to send.</summary>
    public Http2Signal Writable { get; }

    /// <summary>Bytes that may be sent; negative after the service made its windows smaller.</summary>
    public long SendWindow { get; set; }

    /// <summary>Bytes that the service may send.</summary>
    public int ReceiveWindow { get; set; }

    /// <summary>How many it may have sent without being read.</summary>
    public int WindowSize { get; set; }

    /// <summary>Bytes that were read and not granted again yet.</summary>
    public int Returnable { get; set; }

    /// <summary>Bytes of the budget that the window has grown by.</summary>
    public int Grown { get; set; }

    /// <summary>Bytes that the body's declared length still has; -1: none was declared.</summary>
    public long BodyLeft { get; set; }

    /// <summary>Interim responses so far.</summary>
    public int Interim { get; set; }

    /// <summary>Whether the request has no body in its answer: HEAD.</summary>
    public bool IsHead { get; set; }

    /// <summary>Whether the final head has come.</summary>
    public bool HasFinalHead { get; set; }

    /// <summary>Whether this side has ended its direction.</summary>
    public bool LocalEnded { get; set; }

    /// <summary>Whether the service has ended its direction in order.</summary>
    public bool RemoteEnded { get; set; }

    /// <summary>Whether one side has reset it.</summary>
    public bool IsReset { get; set; }

    /// <summary>Whether it is in the list of those that wait for the connection. It stays there when it is used again.</summary>
    public bool IsBlocked { get; set; }

    /// <summary>Whether the request may still be sent.</summary>
    public bool CanSend => !LocalEnded && !IsReset && Failure.IsNone;

    /// <summary>Whether what comes is still wanted.</summary>
    public bool CanReceive => !RemoteEnded && !IsReset && Failure.IsNone;

    /// <summary>Completes when <see cref="TryRead"/> may have something.</summary>
    public ValueTask WaitToReadAsync() => _connection.WaitToReadAsync(this);

    /// <summary>Gives the next thing to read without consuming it.</summary>
    /// <returns>False: nothing yet.</returns>
    public bool TryRead(out Http2Item item) => _connection.TryRead(this, out item);

    /// <summary>The head or the trailers were read.</summary>
    public void ConsumeBlock() => _connection.ConsumeBlock(this);

    /// <summary>Body bytes were taken by the visitor's side: the service may send as many again.</summary>
    /// <param name="count">How many.</param>
    /// <param name="mayGrow">Whether the visitor's side has room for more.</param>
    public void ConsumeData(int count, bool mayGrow) => _connection.ConsumeData(this, count, mayGrow);

    /// <summary>Sends body bytes as the windows allow.</summary>
    /// <returns>False when the service takes no more.</returns>
    public ValueTask<bool> WriteAsync(ReadOnlyMemory<byte> data, bool end) => _connection.WriteAsync(this, data, end);

    /// <summary>Sends trailers, which end the request.</summary>
    /// <param name="block">The compressed block.</param>
    /// <returns>False when the service takes no more.</returns>
    public bool TrySendTrailers(ReadOnlySpan<byte> block) => _connection.TrySendTrailers(this, block);

    /// <summary>Ends it at once. Nothing happens when the object already serves another request.</summary>
    /// <param name="id">The number of the request that is meant.</param>
    /// <param name="code">The code for the service.</param>
    public void Cancel(int id, Http2ErrorCode code) => _connection.Cancel(this, id, code);

    /// <summary>Gives it back; what has not ended is reset.</summary>
    public void Release() => _connection.Release(this);

    /// <summary>Begins with a request.</summary>
    public void Begin(int id, int sendWindow, bool isHead, bool localEnded)
    {
        Id = id;
        Failure = default;
        SendWindow = sendWindow;
        ReceiveWindow = Http2Connection.FirstWindow;
        WindowSize = Http2Connection.FirstWindow;
        Returnable = 0;
        Grown = 0;
        BodyLeft = -1;
        Interim = 0;
        IsHead = isHead;
        HasFinalHead = false;
        LocalEnded = localEnded;
        RemoteEnded = false;
        IsReset = false;
    }

    /// <summary>No request is meant any more.</summary>
    public void Forget() => Id = 0;
}
