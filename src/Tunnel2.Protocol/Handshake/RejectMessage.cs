using System.Text;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;

namespace Tunnel2.Protocol.Handshake;

/// <summary>REJECT: ProxyEntry's answer that refuses a HELLO or a JOIN; it closes the connection after it. Immutable.</summary>
/// <param name="Code">Why; may be a value that this version does not know.</param>
/// <param name="RetryAfter">
/// How long to wait before the next try; zero when waiting does not help. Sent in whole milliseconds, rounded up, at most 49 days.
/// </param>
/// <param name="Text">A text for people, made safe to show when it is read; at most 1,000 bytes of UTF-8 are sent.</param>
public sealed record RejectMessage(RejectCode Code, TimeSpan RetryAfter, string Text)
{
    private const int MaxTextLength = 1000; // bytes

    /// <summary>Whether trying again later may succeed.</summary>
    public bool IsRetryable => RetryAfter > TimeSpan.Zero;

    /// <summary>Encodes the whole frame; a longer text is cut at a character.</summary>
    public byte[] ToFrame()
    {
        var buffer = new byte[FrameHeader.Size + ProtocolLimits.MaxRejectLength];
        var writer = new HandshakeWriter(buffer.AsSpan(FrameHeader.Size));
        writer.UInt16((ushort)Code);
        // Rounded up, because a wait of 0 would mean that waiting does not help.
        writer.UInt32((uint)Math.Clamp(Math.Ceiling(RetryAfter.TotalMilliseconds), 0, uint.MaxValue));
        Span<byte> text = stackalloc byte[MaxTextLength];
        Encoding.UTF8.GetEncoder().Convert(Text, text, flush: true, out _, out var textLength, out _);
        writer.Long(text[..textLength]);
        return HandshakeFrame.Complete(buffer, writer.Length, FrameType.Reject);
    }

    /// <summary>Reads a REJECT payload.</summary>
    /// <param name="payload">The payload.</param>
    /// <param name="message">The message, or null.</param>
    public static ProtocolError TryRead(ReadOnlySpan<byte> payload, out RejectMessage? message)
    {
        var reader = new HandshakeReader(payload);
        var code = (RejectCode)reader.UInt16();
        var retryAfter = TimeSpan.FromMilliseconds(reader.UInt32());
        var text = reader.LongText();
        message = reader.Failed ? null : new RejectMessage(code, retryAfter, text);
        return reader.Failed ? ProtocolError.MalformedHandshake : ProtocolError.None;
    }
}
