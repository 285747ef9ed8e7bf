using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;

namespace Tunnel2.Protocol.Handshake;

/// <summary>WELCOME: ProxyEntry's answer that accepts a HELLO or a JOIN. Immutable.</summary>
public sealed record WelcomeMessage
{
    /// <summary>Bytes of a session id.</summary>
    public const int SessionIdLength = 16;

    /// <summary>Bytes of a join secret.</summary>
    public const int JoinSecretLength = 32;

    /// <summary>The version that both sides use from here on.</summary>
    public byte Version { get; init; } = ProtocolVersion.V1;

    /// <summary>What both sides can do.</summary>
    public HandshakeCapabilities Capabilities { get; init; }

    /// <summary>The session's id, <see cref="SessionIdLength"/> bytes.</summary>
    public required ReadOnlyMemory<byte> SessionId { get; init; }

    /// <summary>The secret that a JOIN must prove to know, <see cref="JoinSecretLength"/> bytes. Never logged.</summary>
    public required ReadOnlyMemory<byte> JoinSecret { get; init; }

    /// <summary>The registration's epoch: later registrations of the name have higher ones.</summary>
    public ulong Epoch { get; init; }

    /// <summary>The credit that ProxyEntry grants each new stream, in bytes.</summary>
    public int StreamWindow { get; init; } = ProtocolLimits.DefaultStreamWindow;

    /// <summary>The credit that ProxyEntry grants the uplink, in bytes.</summary>
    public int UplinkWindow { get; init; } = ProtocolLimits.DefaultUplinkWindow;

    /// <summary>How many streams ProxyEntry opens at once on an uplink, 1…65536.</summary>
    public int MaxStreams { get; init; } = ProtocolLimits.MaxSlots;

    /// <summary>How many uplinks the session may have, 1…255.</summary>
    public byte MaxUplinks { get; init; } = 1;

    /// <summary>The name that the session serves.</summary>
    public required string Name { get; init; }

    /// <summary>The public URLs of the session; the first is the one to show.</summary>
    public required IReadOnlyList<string> PublicUrls { get; init; }

    /// <summary>How long the agent may take to connect to its backend, in whole milliseconds; zero: the agent decides.</summary>
    public TimeSpan BackendConnectTimeout { get; init; }

    /// <summary>What the session carries; sent with <see cref="HandshakeCapabilities.SessionKinds"/>.</summary>
    public SessionKind Kind { get; init; }

    /// <summary>The port of a session of TCP; 0 for other kinds. Sent with <see cref="HandshakeCapabilities.SessionKinds"/>.</summary>
    public int Port { get; init; }

    /// <summary>Which other nodes there are; sent with <see cref="HandshakeCapabilities.AnnouncedNodes"/>.</summary>
    public NodeAnnouncement? Announcement { get; init; }

    /// <summary>Encodes the whole frame.</summary>
    /// <exception cref="ArgumentException">
    /// A field is longer than its length prefix allows, a field does not have its fixed length, or the message is too long.
    /// </exception>
    public byte[] ToFrame()
    {
        var buffer = new byte[FrameHeader.Size + ProtocolLimits.MaxWelcomeLength];
        var writer = new HandshakeWriter(buffer.AsSpan(FrameHeader.Size));
        writer.Byte(Version);
        writer.UInt32((uint)Capabilities);
        writer.Fixed(SessionId.Span, SessionIdLength);
        writer.Fixed(JoinSecret.Span, JoinSecretLength);
        writer.UInt64(Epoch);
        writer.UInt32((uint)StreamWindow);
        writer.UInt32((uint)UplinkWindow);
        writer.UInt32((uint)MaxStreams);
        writer.Byte(MaxUplinks);
        writer.Short(Name);
        if (PublicUrls.Count > byte.MaxValue)
        {
            throw new ArgumentException("A session has at most 255 public URLs.");
        }

        writer.Byte((byte)PublicUrls.Count);
        foreach (var url in PublicUrls)
        {
            writer.Long(url);
        }

        writer.UInt32((uint)Math.Clamp(BackendConnectTimeout.TotalMilliseconds, 0, uint.MaxValue));
        if ((Capabilities & HandshakeCapabilities.SessionKinds) != 0)
        {
            writer.Byte((byte)Kind);
            writer.UInt16(checked((ushort)Port));
        }

        if ((Capabilities & HandshakeCapabilities.AnnouncedNodes) != 0)
        {
            (Announcement ?? throw new ArgumentException("There is no announcement.")).Write(ref writer);
        }

        return HandshakeFrame.Complete(buffer, writer.Length, FrameType.Welcome);
    }

    /// <summary>Reads a WELCOME payload.</summary>
    /// <param name="payload">The payload.</param>
    /// <param name="message">The message, or null.</param>
    public static ProtocolError TryRead(ReadOnlySpan<byte> payload, out WelcomeMessage? message)
    {
        message = null;
        var reader = new HandshakeReader(payload);
        var version = reader.Byte();
        var capabilities = (HandshakeCapabilities)reader.UInt32();
        var sessionId = reader.Raw(SessionIdLength).ToArray();
        var joinSecret = reader.Raw(JoinSecretLength).ToArray();
        var epoch = reader.UInt64();
        var streamWindow = (int)Math.Min(reader.UInt32(), int.MaxValue);
        var uplinkWindow = (int)Math.Min(reader.UInt32(), int.MaxValue);
        var maxStreams = (int)Math.Min(reader.UInt32(), int.MaxValue);
        var maxUplinks = reader.Byte();
        var name = reader.ShortText();
        var urls = new string[reader.Byte()];
        for (var i = 0; i < urls.Length; i++)
        {
            urls[i] = reader.LongText();
        }

        var backendConnect = TimeSpan.FromMilliseconds(reader.UInt32());
        var hasKind = (capabilities & HandshakeCapabilities.SessionKinds) != 0;
        var kind = hasKind ? (SessionKind)reader.Byte() : SessionKind.Http;
        var port = hasKind ? reader.UInt16() : 0;
        var announcement = (capabilities & HandshakeCapabilities.AnnouncedNodes) != 0 ? NodeAnnouncement.Read(ref reader) : null;
        if (reader.Failed || version is < ProtocolVersion.Lowest or > ProtocolVersion.Highest || streamWindow < ProtocolLimits.MinWindow
            || uplinkWindow < streamWindow || maxStreams is < 1 or > ProtocolLimits.MaxSlots || maxUplinks == 0)
        {
            return ProtocolError.MalformedHandshake;
        }

        message = new WelcomeMessage
        {
            Version = version,
            Capabilities = capabilities,
            SessionId = sessionId,
            JoinSecret = joinSecret,
            Epoch = epoch,
            StreamWindow = streamWindow,
            UplinkWindow = uplinkWindow,
            MaxStreams = maxStreams,
            MaxUplinks = maxUplinks,
            Name = name,
            PublicUrls = urls,
            BackendConnectTimeout = backendConnect,
            Kind = kind,
            Port = port,
            Announcement = announcement,
        };
        return ProtocolError.None;
    }

    /// <summary>The session, without its secrets.</summary>
    public override string ToString() => $"WELCOME {Name} session={Convert.ToHexString(SessionId.Span)} epoch={Epoch}";
}
