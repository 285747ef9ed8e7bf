using System.Globalization;
using System.Text;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;
using Tunnel2.Protocol.Handshake;
using Tunnel2.Protocol.Headers;

namespace Tunnel2.Protocol.Tests.Specification;

/// <summary>Encodes a frame from the key: value lines of the specification.</summary>
internal static class FrameBuilder
{
    public static byte[] Encode(Example example)
    {
        var stream = ParseStream(example["stream"]);
        var buffer = new byte[ProtocolLimits.MaxFrameLength];
        switch (example["type"])
        {
            case "DATA":
                return WithHeader(FrameType.Data, example, stream, Unescape(example["body"]));
            case "HEADERS":
                return WithHeader(FrameType.Headers, example, stream, HeadersPayload(example));
            case "RST":
                var reason = Enum.Parse<StreamResetReason>(example["reason"]);
                return buffer[..ControlFrames.WriteRst(buffer, stream, reason, Enum.Parse<StreamResetDetail>(example["detail"]))];
            case "WINDOW":
                return buffer[..ControlFrames.WriteWindow(buffer, stream, example.Number("increment"))];
            case "PING":
                var opaque = ulong.Parse(example["opaque"], NumberStyles.AllowHexSpecifier, CultureInfo.InvariantCulture);
                return buffer[..ControlFrames.WritePing(buffer, opaque, example["flags"] == "ACK")];
            case "SERVICE":
                var counter = uint.Parse(example["counter"], CultureInfo.InvariantCulture);
                return buffer[..ControlFrames.WriteService(buffer, Enum.Parse<ServiceState>(example["state"]), counter)];
            case "NODES":
                return Nodes(example)!.ToFrame(uint.Parse(example["counter"], CultureInfo.InvariantCulture));
            case "GOAWAY":
                var phase = Enum.Parse<GoAwayPhase>(example["phase"]);
                return buffer[..ControlFrames.WriteGoAway(buffer, phase, Enum.Parse<SessionEndReason>(example["reason"]), example["text"])];
            case "HELLO":
                return Hello(example).ToFrame();
            case "WELCOME":
                return Welcome(example).ToFrame();
            case "REJECT":
                return new RejectMessage(
                    Enum.Parse<RejectCode>(example["code"]), TimeSpan.FromMilliseconds(example.Number("retry-after-ms")),
                    example["text"]).ToFrame();
            case "JOIN":
                return JoinMessage.Create(
                    Convert.FromHexString(example["session-id"]), Convert.FromHexString(example["proven-by"]),
                    ulong.Parse(example["counter"], CultureInfo.InvariantCulture)).ToFrame();
            default:
                throw new InvalidDataException($"No encoder for {example["type"]}.");
        }
    }

    private static StreamId ParseStream(string text)
    {
        var parts = text.Split('/');
        return text == "uplink" ? StreamId.Uplink
            : new StreamId(int.Parse(parts[0], CultureInfo.InvariantCulture), ushort.Parse(parts[1], CultureInfo.InvariantCulture));
    }

    private static byte[] WithHeader(FrameType type, Example example, StreamId stream, byte[] payload)
    {
        var frame = new byte[FrameHeader.Size + payload.Length];
        new FrameHeader(payload.Length, type, example["flags"] == "END" ? FrameFlags.End : FrameFlags.None, stream).Write(frame);
        payload.CopyTo(frame, FrameHeader.Size);
        return frame;
    }

    private static byte[] HeadersPayload(Example example)
    {
        var buffer = new byte[ProtocolLimits.MaxHeaderBlockLength];
        var start = example.Find("hops") is null ? 0 : WriteNode(example, buffer);
        var writer = new HeaderBlockWriter(buffer.AsSpan(start));
        var flags = example["block-flags"] == "none" ? HeaderBlockFlags.None : Enum.Parse<HeaderBlockFlags>(example["block-flags"]);
        switch (example["block"])
        {
            case "Request":
                writer.BeginRequest(
                    flags, Unescape(example["method"]), Unescape(example["scheme"]), Unescape(example["authority"]),
                    Unescape(example["target"]));
                break;
            case "Response":
                writer.BeginResponse(flags, example.Number("status"), Unescape(example["reason-phrase"]));
                break;
            default:
                writer.BeginTrailers();
                break;
        }

        foreach (var field in example.All("field"))
        {
            var equals = field.IndexOf(" =", StringComparison.Ordinal);
            writer.AddField(Unescape(field[..equals]), Unescape(field[(equals + 2)..].TrimStart()));
        }

        var block = buffer[..(start + writer.Complete())];
        Assert.False(writer.Overflowed);
        var prefix = new byte[ProtocolLimits.HeaderBlockPrefixLength];
        HeaderBlock.WritePrefix(prefix, block.Length);
        return [.. prefix, .. block, .. Unescape(example["body"])];
    }

    private static int WriteNode(Example example, byte[] buffer) => new NodeRequest
    {
        Hops = (byte)example.Number("hops"),
        Facts = Enum.Parse<NodeRequestFacts>(example["facts"]),
        Name = Unescape(example["node-name"]),
        Address = Convert.FromHexString(example["address"]),
        RequestId = Unescape(example["request-id"]),
        Owner = Unescape(example["owner"]),
        ForwardedFor = Unescape(example["forwarded-for"]),
    }.WritePrefix(buffer);

    private static HelloMessage Hello(Example example) => new()
    {
        LowestVersion = (byte)example.Number("lowest-version"),
        HighestVersion = (byte)example.Number("highest-version"),
        Capabilities = (HandshakeCapabilities)example.Number("capabilities"),
        StreamWindow = example.Number("stream-window"),
        UplinkWindow = example.Number("uplink-window"),
        MaxStreams = example.Number("max-streams"),
        AgentName = example["agent-name"],
        AgentVersion = example["agent-version"],
        InstanceKey = Convert.FromHexString(example["instance-key"]),
        WantedName = example["wanted-name"],
        AgentId = example["agent-id"],
        ProofKind = Enum.Parse<TokenProofKind>(example["proof-kind"]),
        Proof = Convert.FromHexString(example["proof"]),
        OwnerKey = Convert.FromHexString(example.Find("owner-key") ?? ""),
        Kind = Enum.Parse<SessionKind>(example.Find("kind") ?? nameof(SessionKind.Http)),
        TakesAnotherPort = example.Find("another-port") == "yes",
        WantedPort = example.Find("wanted-port") is null ? 0 : example.Number("wanted-port"),
        Access = Access(example),
        WaitsForHealth = example.Find("pool") == "waits-for-health",
        Running = [.. example.All("running").Select(static hex => new Guid(Convert.FromHexString(hex)))],
    };

    private static AccessRules? Access(Example example)
    {
        var rules = new AccessRules
        {
            Users = [.. example.All("access-user").Select(User)],
            Allowed = [.. example.All("access-allow").Select(Network)],
            Denied = [.. example.All("access-deny").Select(Network)],
            Webhook = example.Find("access-webhook") is { } webhook ? Webhook(webhook) : null,
            Policy = Encoding.UTF8.GetBytes(example.Find("access-policy") ?? ""),
            Gate = example.Find("access-gate"),
            ClientAuthorities = [.. example.All("access-authority").Select(static hex => (ReadOnlyMemory<byte>)Convert.FromHexString(hex))],
            Tokens = example.Find("access-tokens") is { } tokens ? new AccessTokens(tokens.Split(' ')[0], tokens.Split(' ')[1]) : null,
        };
        return rules.IsEmpty ? null : rules;

        static WebhookRule Webhook(string text)
        {
            var parts = text.Split(' ');
            return new WebhookRule(
                Enum.Parse<WebhookProvider>(parts[0]),
                [.. parts[1..].Select(static secret => (ReadOnlyMemory<byte>)Convert.FromHexString(secret))]);
        }

        static AccessUser User(string text)
        {
            var parts = text.Split(' ');
            return new AccessUser(parts[0], new PasswordHash(
                int.Parse(parts[1], CultureInfo.InvariantCulture), Convert.FromHexString(parts[2]), Convert.FromHexString(parts[3])));
        }

        static AccessNetwork Network(string text)
        {
            var parts = text.Split('/');
            return AccessNetwork.Create(Convert.FromHexString(parts[0]), int.Parse(parts[1], CultureInfo.InvariantCulture))!;
        }
    }

    private static WelcomeMessage Welcome(Example example) => new()
    {
        Version = (byte)example.Number("version"),
        Capabilities = (HandshakeCapabilities)example.Number("capabilities"),
        SessionId = Convert.FromHexString(example["session-id"]),
        JoinSecret = Convert.FromHexString(example["join-secret"]),
        Epoch = ulong.Parse(example["epoch"], CultureInfo.InvariantCulture),
        StreamWindow = example.Number("stream-window"),
        UplinkWindow = example.Number("uplink-window"),
        MaxStreams = example.Number("max-streams"),
        MaxUplinks = (byte)example.Number("max-uplinks"),
        BackendConnectTimeout = TimeSpan.FromMilliseconds(example.Number("backend-connect-ms")),
        Name = example["served-name"],
        PublicUrls = [.. example.All("url")],
        Kind = Enum.Parse<SessionKind>(example.Find("kind") ?? nameof(SessionKind.Http)),
        Port = example.Find("port") is null ? 0 : example.Number("port"),
        Announcement = Nodes(example),
    };

    private static NodeAnnouncement? Nodes(Example example) => example.Find("node") is { } node
        ? new NodeAnnouncement(node.Split(' ')[0], node.Split(' ')[1], [.. example.All("other-node").Select(NodeOf)])
        : null;

    private static AnnouncedNode NodeOf(string text) =>
        text.Split(' ') is [var node, var host, var port, var zone]
            ? new AnnouncedNode(node, host, int.Parse(port, CultureInfo.InvariantCulture), zone is "-" ? "" : zone)
            : throw new InvalidDataException(text);

    private static byte[] Unescape(string text)
    {
        var bytes = new List<byte>();
        for (var i = 0; i < text.Length; i++)
        {
            if (text[i] == '\\')
            {
                bytes.Add(byte.Parse(text.AsSpan(i + 2, 2), NumberStyles.AllowHexSpecifier, CultureInfo.InvariantCulture));
                i += 3;
            }
            else
            {
                bytes.AddRange(Encoding.ASCII.GetBytes(text, i, 1));
            }
        }

        return [.. bytes];
    }
}
