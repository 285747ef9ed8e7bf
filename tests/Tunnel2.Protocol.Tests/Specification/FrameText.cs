using System.Globalization;
using System.Text;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;
using Tunnel2.Protocol.Handshake;
using Tunnel2.Protocol.Headers;

namespace Tunnel2.Protocol.Tests.Specification;

/// <summary>Decodes a frame into the key: value lines of the specification.</summary>
internal static class FrameText
{
    public static List<string> Decode(byte[] frame)
    {
        Assert.Equal(ProtocolError.None, FrameHeader.TryRead(frame, out var header));
        Assert.Equal(frame.Length, FrameHeader.Size + header.Length);
        var payload = frame.AsSpan(FrameHeader.Size);
        var lines = new List<string>();
        void Add(string key, object? value) => lines.Add(Line(key, value));
        Add("type", header.IsKnown ? header.Type.ToString().ToUpperInvariant() : "unknown");
        if (!header.IsKnown)
        {
            Add("code", (int)header.Type);
        }

        Add("flags", FlagNames(header.Flags));
        Add("stream", header.Stream);
        switch (header.Type)
        {
            case FrameType.Data:
                Add("body", Escape(payload));
                break;
            case FrameType.Headers:
                DecodeHeaders(payload, Add);
                break;
            case FrameType.Rst:
                Add("reason", ControlFrames.ReadRst(payload, out var detail));
                Add("detail", detail);
                break;
            case FrameType.Window:
                Assert.Equal(ProtocolError.None, ControlFrames.TryReadWindow(payload, out var increment));
                Add("increment", increment);
                break;
            case FrameType.Ping:
                Add("opaque", ControlFrames.ReadPing(payload).ToString("x16", CultureInfo.InvariantCulture));
                break;
            case FrameType.Service:
                Add("state", ControlFrames.ReadService(payload, out var counter));
                Add("counter", counter);
                break;
            case FrameType.Nodes:
                Assert.Equal(ProtocolError.None, NodeAnnouncement.TryReadFrame(payload, out var list, out var nodes));
                Add("counter", list);
                DecodeNodes(nodes!, Add);
                break;
            case FrameType.GoAway:
                Assert.Equal(ProtocolError.None, ControlFrames.TryReadGoAway(payload, out var phase, out var reason, out var text));
                Add("phase", phase);
                Add("reason", reason);
                Add("text", text);
                break;
            default:
                DecodeHandshake(header.Type, payload, Add);
                break;
        }

        return lines;
    }

    public static string Line(string key, object? value) => FormattableString.Invariant($"{key}: {value}").TrimEnd();

    public static string Escape(ReadOnlySpan<byte> bytes)
    {
        var text = new StringBuilder();
        foreach (var value in bytes)
        {
            _ = value is >= 0x20 and < 0x7F and not (byte)'\\'
                ? text.Append((char)value)
                : text.Append(CultureInfo.InvariantCulture, $"\\x{value:x2}");
        }

        return text.ToString();
    }

    private static string FlagNames(FrameFlags flags)
    {
        var names = new List<string>();
        foreach (var flag in (FrameFlags[])[FrameFlags.Critical, FrameFlags.End, FrameFlags.Ack])
        {
            if ((flags & flag) != 0)
            {
                names.Add(flag.ToString().ToUpperInvariant());
            }
        }

        return names.Count == 0 ? "none" : string.Join(' ', names);
    }

    private static void DecodeHeaders(ReadOnlySpan<byte> payload, Action<string, object?> add)
    {
        Assert.Equal(ProtocolError.None, HeaderBlock.TrySplit(payload, out var bytes, out var body));
        HeaderBlock block;
        if (bytes[0] == (byte)HeaderBlockKind.NodeRequest)
        {
            Assert.Equal(ProtocolError.None, NodeRequest.TryRead(bytes, out var node, out block));
            DecodeNode(node, add);
        }
        else
        {
            Assert.Equal(ProtocolError.None, HeaderBlock.TryRead(bytes, out block));
        }

        add("block", block.Kind);
        add("block-flags", block.Flags == HeaderBlockFlags.None ? "none" : block.Flags);
        if (block.Kind == HeaderBlockKind.Request)
        {
            add("method", Escape(block.Method));
            add("scheme", Escape(block.Scheme));
            add("authority", Escape(block.Authority));
            add("target", Escape(block.Target));
        }
        else if (block.Kind == HeaderBlockKind.Response)
        {
            add("status", block.Status);
            add("reason-phrase", Escape(block.ReasonPhrase));
        }

        foreach (var field in block.Fields)
        {
            add("field", $"{Escape(field.Name)} = {Escape(field.Value)}".TrimEnd());
        }

        add("body", Escape(body));
    }

    private static void DecodeNode(scoped in NodeRequest node, Action<string, object?> add)
    {
        add("hops", node.Hops);
        add("facts", node.Facts);
        add("node-name", Escape(node.Name));
        add("address", Convert.ToHexStringLower(node.Address));
        add("request-id", Escape(node.RequestId));
        add("owner", Escape(node.Owner));
        add("forwarded-for", Escape(node.ForwardedFor));
    }

    private static void DecodeAccess(AccessRules? rules, Action<string, object?> add)
    {
        foreach (var user in rules?.Users ?? [])
        {
            var (salt, digest) = (Convert.ToHexStringLower(user.Hash.Salt), Convert.ToHexStringLower(user.Hash.Digest));
            add("access-user", FormattableString.Invariant($"{user.Name} {user.Hash.Iterations} {salt} {digest}"));
        }

        foreach (var network in rules?.Allowed ?? [])
        {
            add("access-allow", Network(network));
        }

        foreach (var network in rules?.Denied ?? [])
        {
            add("access-deny", Network(network));
        }

        if (rules?.Webhook is { } webhook)
        {
            add("access-webhook", string.Join(
                ' ', webhook.Secrets.Select(static secret => Convert.ToHexStringLower(secret.Span)).Prepend(webhook.Provider.ToString())));
        }

        if (rules is { Policy.IsEmpty: false })
        {
            add("access-policy", Escape(rules.Policy.Span));
        }

        if (rules?.Tokens is { } tokens)
        {
            add("access-tokens", $"{tokens.Issuer} {tokens.Audience}");
        }

        if (rules?.Gate is { } gate)
        {
            add("access-gate", gate);
        }

        foreach (var authority in rules?.ClientAuthorities ?? [])
        {
            add("access-authority", Convert.ToHexStringLower(authority.Span));
        }

        static string Network(AccessNetwork network) =>
            FormattableString.Invariant($"{Convert.ToHexStringLower(network.Address)}/{network.PrefixLength}");
    }

    private static void DecodeNodes(NodeAnnouncement announcement, Action<string, object?> add)
    {
        add("node", $"{announcement.Node} {announcement.Zone}");
        foreach (var other in announcement.Others)
        {
            add("other-node", $"{other.Node} {other.Host} {other.Port} {(other.Zone is "" ? "-" : other.Zone)}");
        }
    }

    private static void DecodeHandshake(FrameType type, ReadOnlySpan<byte> payload, Action<string, object?> add)
    {
        switch (type)
        {
            case FrameType.Hello:
                Assert.Equal(ProtocolError.None, HelloMessage.TryRead(payload, out var hello));
                add("lowest-version", hello!.LowestVersion);
                add("highest-version", hello.HighestVersion);
                add("capabilities", (uint)hello.Capabilities);
                add("stream-window", hello.StreamWindow);
                add("uplink-window", hello.UplinkWindow);
                add("max-streams", hello.MaxStreams);
                add("agent-name", hello.AgentName);
                add("agent-version", hello.AgentVersion);
                add("instance-key", Convert.ToHexStringLower(hello.InstanceKey.Span));
                add("wanted-name", hello.WantedName);
                add("agent-id", hello.AgentId);
                add("proof-kind", hello.ProofKind);
                add("proof", Convert.ToHexStringLower(hello.Proof.Span));
                if (!hello.OwnerKey.IsEmpty)
                {
                    add("owner-key", Convert.ToHexStringLower(hello.OwnerKey.Span));
                }

                if ((hello.Capabilities & HandshakeCapabilities.SessionKinds) != 0)
                {
                    add("kind", hello.Kind);
                    add("another-port", hello.TakesAnotherPort ? "yes" : "no");
                    add("wanted-port", hello.WantedPort);
                }

                DecodeAccess(hello.Access, add);
                if ((hello.Capabilities & HandshakeCapabilities.Pools) != 0)
                {
                    add("pool", hello.WaitsForHealth ? "waits-for-health" : "yes");
                }

                foreach (var session in hello.Running)
                {
                    add("running", Convert.ToHexStringLower(session.ToByteArray()));
                }

                break;
            case FrameType.Welcome:
                Assert.Equal(ProtocolError.None, WelcomeMessage.TryRead(payload, out var welcome));
                add("version", welcome!.Version);
                add("capabilities", (uint)welcome.Capabilities);
                add("session-id", Convert.ToHexStringLower(welcome.SessionId.Span));
                add("join-secret", Convert.ToHexStringLower(welcome.JoinSecret.Span));
                add("epoch", welcome.Epoch);
                add("stream-window", welcome.StreamWindow);
                add("uplink-window", welcome.UplinkWindow);
                add("max-streams", welcome.MaxStreams);
                add("max-uplinks", welcome.MaxUplinks);
                add("served-name", welcome.Name);
                foreach (var url in welcome.PublicUrls)
                {
                    add("url", url);
                }

                add("backend-connect-ms", (long)welcome.BackendConnectTimeout.TotalMilliseconds);
                if ((welcome.Capabilities & HandshakeCapabilities.SessionKinds) != 0)
                {
                    add("kind", welcome.Kind);
                    add("port", welcome.Port);
                }

                if (welcome.Announcement is { } announcement)
                {
                    DecodeNodes(announcement, add);
                }

                break;
            case FrameType.Reject:
                Assert.Equal(ProtocolError.None, RejectMessage.TryRead(payload, out var reject));
                add("code", reject!.Code);
                add("retry-after-ms", (long)reject.RetryAfter.TotalMilliseconds);
                add("text", reject.Text);
                break;
            case FrameType.Join:
                Assert.Equal(ProtocolError.None, JoinMessage.TryRead(payload, out var join));
                add("version", join!.Version);
                add("session-id", Convert.ToHexStringLower(join.SessionId.Span));
                add("counter", join.Counter);
                add("proof", Convert.ToHexStringLower(join.Proof.Span));
                break;
        }
    }
}
