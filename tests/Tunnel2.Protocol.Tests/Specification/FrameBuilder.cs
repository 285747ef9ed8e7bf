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
        var writer = new HeaderBlockWriter(buffer);
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

        var block = buffer[..writer.Complete()];
        Assert.False(writer.Overflowed);
        var prefix = new byte[ProtocolLimits.HeaderBlockPrefixLength];
        HeaderBlock.WritePrefix(prefix, block.Length);
        return [.. prefix, .. block, .. Unescape(example["body"])];
    }

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
    };

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
    };

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
