using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;

namespace Tunnel2.Multiplexing.Handshake;

/// <summary>How reading a peer's handshake frame ended.</summary>
internal enum HandshakeReadStatus
{
    /// <summary>A whole frame is there.</summary>
    Frame,

    /// <summary>The peer broke the protocol.</summary>
    Malformed,

    /// <summary>The peer closed the connection, or it failed.</summary>
    Closed,

    /// <summary>The peer was too slow.</summary>
    TimedOut,
}

/// <summary>What reading a peer's handshake frame gave.</summary>
/// <param name="Status">How it ended.</param>
/// <param name="Error">How the peer broke the protocol, where it did.</param>
/// <param name="Type">The frame's type.</param>
/// <param name="Payload">The frame's payload.</param>
/// <param name="Rest">What arrived after the frame: the uplink's first bytes.</param>
/// <param name="FirstBytes">The first bytes that arrived, up to 8: to show a person what else spoke here.</param>
internal readonly record struct HandshakeReadResult(
    HandshakeReadStatus Status, ProtocolError Error, FrameType Type, ReadOnlyMemory<byte> Payload, ReadOnlyMemory<byte> Rest,
    ReadOnlyMemory<byte> FirstBytes);

/// <summary>
/// Reads the one frame that a peer says first. Before it is known whom one speaks with, no more is buffered than a HELLO may have, and no
/// longer than the handshake may take.
/// </summary>
internal static class HandshakeFrameReader
{
    /// <summary>By how much the buffer grows when it is full.</summary>
    private const int GrowthFactor = 4;

    /// <summary>Reads the first frame.</summary>
    /// <param name="transport">The connection; aborted when the time is over.</param>
    /// <param name="isExpected">Whether a type may come first here.</param>
    /// <param name="timeout">How long the peer may take.</param>
    /// <param name="timeProvider">Time.</param>
    /// <param name="cancellationToken">Gives up early.</param>
    public static async Task<HandshakeReadResult> ReadAsync(
        IUplinkTransport transport, Func<FrameType, bool> isExpected, TimeSpan timeout, TimeProvider timeProvider,
        CancellationToken cancellationToken)
    {
        using var deadline = new CancellationTokenSource(timeout, timeProvider);
        using var linked = CancellationTokenSource.CreateLinkedTokenSource(deadline.Token, cancellationToken);
        using var registration = linked.Token.UnsafeRegister(static state => ((IUplinkTransport)state!).Abort(), transport);
        var buffer = new byte[1024];
        var filled = 0;
        try
        {
            while (true)
            {
                if (filled >= FrameHeader.Size)
                {
                    var error = FrameHeader.TryRead(buffer, out var header);
                    if (error == ProtocolError.None && !isExpected(header.Type))
                    {
                        error = ProtocolError.HandshakeExpected;
                    }

                    if (error != ProtocolError.None)
                    {
                        return Result(HandshakeReadStatus.Malformed, error);
                    }

                    var length = FrameHeader.Size + header.Length;
                    if (filled >= length)
                    {
                        return new HandshakeReadResult(
                            HandshakeReadStatus.Frame, error, header.Type, buffer.AsMemory(FrameHeader.Size, header.Length),
                            buffer.AsMemory(length, filled - length), FirstBytes());
                    }

                    if (buffer.Length < length && filled == buffer.Length)
                    {
                        // With what has arrived, not with what was announced: a stranger pays for the memory with its own bytes.
                        Array.Resize(ref buffer, Math.Min(length, GrowthFactor * buffer.Length));
                    }
                }

                var received = await transport.ReceiveAsync(buffer.AsMemory(filled)).ConfigureAwait(false);
                if (received == 0)
                {
                    return Result(
                        deadline.IsCancellationRequested ? HandshakeReadStatus.TimedOut : HandshakeReadStatus.Closed, ProtocolError.None);
                }

                filled += received;
            }
        }
        catch (Exception exception) when (exception is IOException or ObjectDisposedException or OperationCanceledException)
        {
            return Result(deadline.IsCancellationRequested ? HandshakeReadStatus.TimedOut : HandshakeReadStatus.Closed, ProtocolError.None);
        }

        ReadOnlyMemory<byte> FirstBytes() => buffer.AsMemory(0, Math.Min(filled, FrameHeader.Size));

        HandshakeReadResult Result(HandshakeReadStatus status, ProtocolError error) =>
            new(status, error, FrameType.None, default, default, FirstBytes());
    }
}
