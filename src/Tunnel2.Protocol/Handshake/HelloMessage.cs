using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;

namespace Tunnel2.Protocol.Handshake;

/// <summary>
/// HELLO: the agent's first frame on a session's first uplink. Immutable. Fields that a later version appends are ignored by this one.
/// </summary>
public sealed record HelloMessage
{
    /// <summary>The first four payload bytes of HELLO and JOIN: "TNL2".</summary>
    public static ReadOnlySpan<byte> Magic => "TNL2"u8;

    /// <summary>Bytes of an <see cref="OwnerKey"/>.</summary>
    public const int OwnerKeyLength = 32;

    /// <summary>How many <see cref="Running"/> sessions are looked at.</summary>
    public const int MaxRunning = 16;

    /// <summary>The pool flag: the service counts as unhealthy until a SERVICE frame says otherwise.</summary>
    private const byte UnhealthyAtFirst = 1;

    /// <summary>The port flag: another port than the wanted one will do.</summary>
    private const byte AnotherPortWillDo = 1;

    /// <summary>The lowest version the agent speaks.</summary>
    public byte LowestVersion { get; init; } = ProtocolVersion.Lowest;

    /// <summary>The highest version the agent speaks.</summary>
    public byte HighestVersion { get; init; } = ProtocolVersion.Highest;

    /// <summary>What the agent can do.</summary>
    public HandshakeCapabilities Capabilities { get; init; }

    /// <summary>The credit that the agent grants each new stream, in bytes.</summary>
    public int StreamWindow { get; init; } = ProtocolLimits.DefaultStreamWindow;

    /// <summary>The credit that the agent grants the uplink, in bytes.</summary>
    public int UplinkWindow { get; init; } = ProtocolLimits.DefaultUplinkWindow;

    /// <summary>How many streams the agent accepts at once on an uplink, 1…65536.</summary>
    public int MaxStreams { get; init; } = ProtocolLimits.MaxSlots;

    /// <summary>The agent program's name, for people ("tunnel2").</summary>
    public required string AgentName { get; init; }

    /// <summary>The agent program's version, for people.</summary>
    public required string AgentVersion { get; init; }

    /// <summary>A random key of the running agent, 16…64 bytes: the identity that owns a name when there are no tokens.</summary>
    public required ReadOnlyMemory<byte> InstanceKey { get; init; }

    /// <summary>The public name the agent wants; empty: ProxyEntry chooses.</summary>
    public string WantedName { get; init; } = "";

    /// <summary>The agent id that the token belongs to; empty without a token.</summary>
    public string AgentId { get; init; } = "";

    /// <summary>How the agent proves who it is.</summary>
    public TokenProofKind ProofKind { get; init; }

    /// <summary>The proof; empty for <see cref="TokenProofKind.None"/>. A secret: never logged.</summary>
    public ReadOnlyMemory<byte> Proof { get; init; }

    /// <summary>
    /// A secret that an agent without a token keeps over its restarts, 32 bytes, or empty. A name, and the requests that wait for it, are
    /// kept for the agent with the same secret. Never logged.
    /// </summary>
    public ReadOnlyMemory<byte> OwnerKey { get; init; }

    /// <summary>What the session carries; another kind than HTTP needs <see cref="HandshakeCapabilities.SessionKinds"/>.</summary>
    public SessionKind Kind { get; init; }

    /// <summary>The port that a session of TCP wants, 1…65535; 0: ProxyEntry chooses.</summary>
    public int WantedPort { get; init; }

    /// <summary>Whether another port will do when the wanted one is not available.</summary>
    public bool TakesAnotherPort { get; init; }

    /// <summary>Who may visit; null: all. Rules need <see cref="HandshakeCapabilities.AccessRules"/>.</summary>
    public AccessRules? Access { get; init; }

    /// <summary>
    /// Whether the service of a pool's member counts as unhealthy until the first SERVICE frame. It needs
    /// <see cref="HandshakeCapabilities.Pools"/>.
    /// </summary>
    public bool WaitsForHealth { get; init; }

    /// <summary>
    /// The ids of the agent's sessions that run, at most <see cref="MaxRunning"/>. They need
    /// <see cref="HandshakeCapabilities.RunningSessions"/>.
    /// </summary>
    public IReadOnlyList<Guid> Running { get; init; } = [];

    /// <summary>Encodes the whole frame.</summary>
    /// <exception cref="ArgumentException">
    /// A field is longer than its length prefix allows, the message is longer than its limit, or the capability for the kind, for the
    /// access rules, for the pool or for the running sessions is missing.
    /// </exception>
    public byte[] ToFrame()
    {
        var hasKind = (Capabilities & HandshakeCapabilities.SessionKinds) != 0;
        var hasAccess = (Capabilities & HandshakeCapabilities.AccessRules) != 0;
        var hasPool = (Capabilities & HandshakeCapabilities.Pools) != 0;
        var hasRunning = (Capabilities & HandshakeCapabilities.RunningSessions) != 0;
        if (Running.Count > MaxRunning || (Running.Count > 0 && !hasRunning))
        {
            throw new ArgumentException($"At most {MaxRunning} running sessions are said, with the capability.");
        }

        if (WaitsForHealth && !hasPool)
        {
            throw new ArgumentException("A member of a pool needs the capability.");
        }

        if (Access is { IsEmpty: false } && !hasAccess)
        {
            throw new ArgumentException("Access rules need the capability.");
        }

        if (Kind != SessionKind.Http && !hasKind)
        {
            throw new ArgumentException("A session of another kind than HTTP needs the capability.");
        }

        var buffer = new byte[FrameHeader.Size + ProtocolLimits.MaxHelloLength];
        var writer = new HandshakeWriter(buffer.AsSpan(FrameHeader.Size));
        writer.Raw(Magic);
        writer.Byte(LowestVersion);
        writer.Byte(HighestVersion);
        writer.UInt32((uint)Capabilities);
        writer.UInt32((uint)StreamWindow);
        writer.UInt32((uint)UplinkWindow);
        writer.UInt32((uint)MaxStreams);
        writer.Short(AgentName);
        writer.Short(AgentVersion);
        writer.Short(InstanceKey.Span);

        // A server that knows no kinds would take the name over for HTTP, one that knows no access rules would publish it without them, and
        // one that knows no pools would take it away from the other members. So the name is not where that server looks for it.
        writer.Short(hasKind || hasAccess || hasPool ? "" : WantedName);
        writer.Short(AgentId);
        writer.Byte((byte)ProofKind);
        writer.Long(Proof.Span);
        if (!OwnerKey.IsEmpty || hasKind || hasAccess || hasPool || hasRunning)
        {
            writer.Short(OwnerKey.Span);
        }

        if (hasKind)
        {
            writer.Byte((byte)Kind);
            writer.Byte(TakesAnotherPort ? AnotherPortWillDo : (byte)0);
            writer.UInt16(checked((ushort)WantedPort));
            writer.Short(hasAccess || hasPool ? "" : WantedName);
        }

        if (hasAccess)
        {
            writer.Long((Access ?? new AccessRules()).ToBytes());
            writer.Short(hasPool ? "" : WantedName);
        }

        if (hasPool)
        {
            writer.Byte(WaitsForHealth ? UnhealthyAtFirst : (byte)0);
            writer.Short(WantedName);
        }

        if (hasRunning)
        {
            writer.Byte((byte)Running.Count);
            foreach (var session in Running)
            {
                writer.Raw(session.ToByteArray());
            }
        }

        return HandshakeFrame.Complete(buffer, writer.Length, FrameType.Hello);
    }

    /// <summary>Reads a HELLO payload.</summary>
    /// <param name="payload">The payload.</param>
    /// <param name="message">The message, or null.</param>
    public static ProtocolError TryRead(ReadOnlySpan<byte> payload, out HelloMessage? message)
    {
        message = null;
        var reader = new HandshakeReader(payload);
        if (!reader.Raw(Magic.Length).SequenceEqual(Magic))
        {
            return ProtocolError.WrongMagic;
        }

        var read = new HelloMessage
        {
            LowestVersion = reader.Byte(),
            HighestVersion = reader.Byte(),
            Capabilities = (HandshakeCapabilities)reader.UInt32(),
            StreamWindow = (int)Math.Min(reader.UInt32(), int.MaxValue),
            UplinkWindow = (int)Math.Min(reader.UInt32(), int.MaxValue),
            MaxStreams = (int)Math.Min(reader.UInt32(), int.MaxValue),
            AgentName = reader.ShortText(),
            AgentVersion = reader.ShortText(),
            InstanceKey = reader.Short().ToArray(),
            WantedName = reader.ShortText(),
            AgentId = reader.ShortText(),
            ProofKind = (TokenProofKind)reader.Byte(),
            Proof = reader.Long().ToArray(),
        };
        if (reader.Failed || read.InstanceKey.Length is < 16 or > 64 || read.StreamWindow < ProtocolLimits.MinWindow
            || read.UplinkWindow < read.StreamWindow || read.MaxStreams is < 1 or > ProtocolLimits.MaxSlots)
        {
            return ProtocolError.MalformedHandshake;
        }

        // The first version had no such field, so bytes of another length are not a key.
        var ownerKey = reader.Short();
        read = ownerKey.Length == OwnerKeyLength ? read with { OwnerKey = ownerKey.ToArray() } : read;
        if ((read.Capabilities & HandshakeCapabilities.SessionKinds) != 0)
        {
            read = read with
            {
                Kind = (SessionKind)reader.Byte(),
                TakesAnotherPort = (reader.Byte() & AnotherPortWillDo) != 0,
                WantedPort = reader.UInt16(),
                WantedName = reader.ShortText(),
            };
            if (reader.Failed)
            {
                return ProtocolError.MalformedHandshake;
            }
        }

        if ((read.Capabilities & HandshakeCapabilities.AccessRules) != 0)
        {
            var access = AccessRules.TryRead(reader.Long());
            read = read with { Access = access, WantedName = reader.ShortText() };
            if (reader.Failed || access is null)
            {
                return ProtocolError.MalformedHandshake;
            }
        }

        if ((read.Capabilities & HandshakeCapabilities.Pools) != 0)
        {
            read = read with { WaitsForHealth = (reader.Byte() & UnhealthyAtFirst) != 0, WantedName = reader.ShortText() };
            if (reader.Failed)
            {
                return ProtocolError.MalformedHandshake;
            }
        }

        if ((read.Capabilities & HandshakeCapabilities.RunningSessions) != 0)
        {
            var ids = reader.Raw(reader.Byte() * WelcomeMessage.SessionIdLength);
            if (reader.Failed)
            {
                return ProtocolError.MalformedHandshake;
            }

            var running = new Guid[Math.Min(ids.Length / WelcomeMessage.SessionIdLength, MaxRunning)];
            for (var i = 0; i < running.Length; i++)
            {
                running[i] = new Guid(ids.Slice(i * WelcomeMessage.SessionIdLength, WelcomeMessage.SessionIdLength));
            }

            read = read with { Running = running };
        }

        message = read;
        return ProtocolError.None;
    }

    /// <summary>The agent and its wanted name, without its secrets.</summary>
    public override string ToString() =>
        $"HELLO {AgentName}/{AgentVersion} kind={Kind} name={WantedName} agent={AgentId} proof={ProofKind}";
}
