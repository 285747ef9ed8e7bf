using System.Security.Cryptography;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;

namespace Tunnel2.Protocol.Handshake;

/// <summary>
/// JOIN: the agent's first frame on a further uplink. It proves to know the session's join secret without sending it:
/// HMAC-SHA256(secret, "tunnel2 join" ‖ session id ‖ counter). The counter increases with every JOIN of a session, so a copied proof is
/// useless. Immutable.
/// </summary>
public sealed record JoinMessage
{
    private const int ProofLength = HMACSHA256.HashSizeInBytes;

    /// <summary>The version that the session uses.</summary>
    public byte Version { get; init; } = ProtocolVersion.V1;

    /// <summary>The session's id.</summary>
    public required ReadOnlyMemory<byte> SessionId { get; init; }

    /// <summary>1 for the session's first JOIN, then increasing.</summary>
    public required ulong Counter { get; init; }

    /// <summary>The proof.</summary>
    public required ReadOnlyMemory<byte> Proof { get; init; }

    /// <summary>Makes a JOIN with its proof.</summary>
    /// <param name="sessionId">The session's id.</param>
    /// <param name="joinSecret">The session's join secret.</param>
    /// <param name="counter">Higher than in all earlier JOINs.</param>
    public static JoinMessage Create(ReadOnlyMemory<byte> sessionId, ReadOnlySpan<byte> joinSecret, ulong counter) =>
        new() { SessionId = sessionId, Counter = counter, Proof = ComputeProof(sessionId.Span, joinSecret, counter) };

    /// <summary>Checks the proof in constant time. The caller must check that the counter increased.</summary>
    /// <param name="joinSecret">The session's join secret.</param>
    public bool IsProvenBy(ReadOnlySpan<byte> joinSecret) =>
        CryptographicOperations.FixedTimeEquals(Proof.Span, ComputeProof(SessionId.Span, joinSecret, Counter));

    /// <summary>Encodes the whole frame.</summary>
    /// <exception cref="ArgumentException">The session id or the proof does not have its fixed length.</exception>
    public byte[] ToFrame()
    {
        var buffer = new byte[FrameHeader.Size + ProtocolLimits.MaxJoinLength];
        var writer = new HandshakeWriter(buffer.AsSpan(FrameHeader.Size));
        writer.Raw(HelloMessage.Magic);
        writer.Byte(Version);
        writer.Fixed(SessionId.Span, WelcomeMessage.SessionIdLength);
        writer.UInt64(Counter);
        writer.Fixed(Proof.Span, ProofLength);
        return HandshakeFrame.Complete(buffer, writer.Length, FrameType.Join);
    }

    /// <summary>Reads a JOIN payload.</summary>
    /// <param name="payload">The payload.</param>
    /// <param name="message">The message, or null.</param>
    public static ProtocolError TryRead(ReadOnlySpan<byte> payload, out JoinMessage? message)
    {
        message = null;
        var reader = new HandshakeReader(payload);
        if (!reader.Raw(HelloMessage.Magic.Length).SequenceEqual(HelloMessage.Magic))
        {
            return ProtocolError.WrongMagic;
        }

        var read = new JoinMessage
        {
            Version = reader.Byte(),
            SessionId = reader.Raw(WelcomeMessage.SessionIdLength).ToArray(),
            Counter = reader.UInt64(),
            Proof = reader.Raw(ProofLength).ToArray(),
        };
        if (reader.Failed)
        {
            return ProtocolError.MalformedHandshake;
        }

        message = read;
        return ProtocolError.None;
    }

    /// <summary>The session, without the proof.</summary>
    public override string ToString() => $"JOIN session={Convert.ToHexString(SessionId.Span)} counter={Counter}";

    private static byte[] ComputeProof(ReadOnlySpan<byte> sessionId, ReadOnlySpan<byte> joinSecret, ulong counter)
    {
        Span<byte> input = stackalloc byte[64];
        var writer = new HandshakeWriter(input);
        writer.Raw("tunnel2 join"u8);
        writer.Raw(sessionId);
        writer.UInt64(counter);
        return HMACSHA256.HashData(joinSecret, input[..writer.Length]);
    }
}
