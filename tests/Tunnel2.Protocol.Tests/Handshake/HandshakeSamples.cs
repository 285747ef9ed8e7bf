using FsCheck;
using FsCheck.Fluent;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Handshake;

namespace Tunnel2.Protocol.Tests.Handshake;

/// <summary>Random legal handshake messages.</summary>
internal static class HandshakeSamples
{
    private static readonly Gen<int> _windows = Gen.Frequency((3, Gen.Choose(16_384, 1 << 24)), (1, Gen.Elements(16_384, int.MaxValue)));

    public static Gen<HelloMessage> Hello { get; } =
        from versions in Property.Bytes(2, 2)
        from capabilities in Property.UInt32
        from first in _windows
        from second in _windows
        from streams in Gen.Choose(1, 65_536)
        from texts in Property.Text(80).ArrayOf(4)
        from key in Property.Bytes(16, 64)
        from kind in Gen.Choose(0, 255)
        from proof in Property.Bytes(0, 500)
        from port in Gen.Choose(0, 65_535)
        from networks in Gen.Choose(0, AccessRules.MaxNetworks / 2)
        let hasKind = ((HandshakeCapabilities)capabilities & HandshakeCapabilities.SessionKinds) != 0
        let hasAccess = ((HandshakeCapabilities)capabilities & HandshakeCapabilities.AccessRules) != 0
        select new HelloMessage
        {
            LowestVersion = versions[0],
            HighestVersion = versions[1],
            Capabilities = (HandshakeCapabilities)capabilities,
            StreamWindow = Math.Min(first, second),
            UplinkWindow = Math.Max(first, second),
            MaxStreams = streams,
            AgentName = texts[0],
            AgentVersion = texts[1],
            InstanceKey = key,
            WantedName = texts[2],
            AgentId = texts[3],
            ProofKind = (TokenProofKind)kind,
            Proof = proof,
            Kind = hasKind ? (SessionKind)(kind / 2) : SessionKind.Http,
            WantedPort = hasKind ? port : 0,
            TakesAnotherPort = hasKind && port % 2 == 0,
            Access = hasAccess ? Rules(networks, port) : null,
            Running = ((HandshakeCapabilities)capabilities & HandshakeCapabilities.RunningSessions) != 0
                ? [.. Enumerable.Range(0, port % (HelloMessage.MaxRunning + 1)).Select(static one => new Guid(one, 1, 2, new byte[8]))]
                : [],
            WaitsForHealth = port % 4 == 0 && ((HandshakeCapabilities)capabilities & HandshakeCapabilities.Pools) != 0,
        };

    public static Gen<WelcomeMessage> Welcome { get; } =
        from capabilities in Property.UInt32
        from session in Property.Bytes(WelcomeMessage.SessionIdLength, WelcomeMessage.SessionIdLength)
        from secret in Property.Bytes(WelcomeMessage.JoinSecretLength, WelcomeMessage.JoinSecretLength)
        from epoch in Property.UInt64
        from first in _windows
        from second in _windows
        from streams in Gen.Choose(1, 65_536)
        from uplinks in Gen.Choose(1, 255)
        from name in Property.Text(80)
        from urls in Gen.Choose(0, 5).SelectMany(count => Property.Text(200).ArrayOf(count))
        from port in Gen.Choose(0, 65_535)
        let hasKind = ((HandshakeCapabilities)capabilities & HandshakeCapabilities.SessionKinds) != 0
        select new WelcomeMessage
        {
            Capabilities = (HandshakeCapabilities)capabilities,
            SessionId = session,
            JoinSecret = secret,
            Epoch = epoch,
            StreamWindow = Math.Min(first, second),
            UplinkWindow = Math.Max(first, second),
            MaxStreams = streams,
            MaxUplinks = (byte)uplinks,
            Name = name,
            PublicUrls = urls,
            Kind = hasKind ? (SessionKind)(port / 256) : SessionKind.Http,
            Port = hasKind ? port : 0,
            Announcement = ((HandshakeCapabilities)capabilities & HandshakeCapabilities.AnnouncedNodes) != 0
                ? new NodeAnnouncement("e" + uplinks, port % 2 == 0 ? "" : "a", [.. Enumerable.Range(1, port % 17).Select(Node)])
                : null,
        };

    public static Gen<RejectMessage> Reject { get; } =
        from code in Gen.Choose(0, 65_535)
        from milliseconds in Property.UInt32
        from text in Property.Text(300)
        select new RejectMessage((RejectCode)code, TimeSpan.FromMilliseconds((double)milliseconds), text);

    public static Gen<JoinMessage> Join { get; } =
        from session in Property.Bytes(WelcomeMessage.SessionIdLength, WelcomeMessage.SessionIdLength)
        from secret in Property.Bytes(WelcomeMessage.JoinSecretLength, WelcomeMessage.JoinSecretLength)
        from counter in Property.UInt64
        select JoinMessage.Create(session, secret, counter);

    private static AnnouncedNode Node(int number) => number % 3 == 0
        ? new AnnouncedNode("n" + number, "2001:db8::" + number, number, "")
        : new AnnouncedNode("n" + number, $"n{number}.example.com", ushort.MaxValue - number, "b");

    /// <summary>Rules with some networks of both kinds and a user.</summary>
    private static AccessRules Rules(int networks, int number) => new()
    {
        Users = number % 2 == 0 ? [] : [new AccessUser("u" + number, new PasswordHash(10_000 + number, new byte[16], new byte[32]))],
        Allowed =
        [
            .. Enumerable.Range(0, networks).Select(index => AccessNetwork.Create([10, (byte)index, 0, 0], 16)!),
        ],
        Denied = number % 3 == 0 ? [] : [AccessNetwork.Create([0x20, 1, .. new byte[14]], 16)!],
    };
}
