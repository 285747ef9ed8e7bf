using System.Globalization;
using System.Text;
using Tunnel2.Protocol;
using Tunnel2.Protocol.Handshake;

namespace Tunnel2.Client.Core.Configuration;

/// <summary>
/// All settings of an agent. Immutable and safe to share between threads. Made by
/// the program <c>tunnel2</c> from what its user gave, or directly by a program that runs an agent inside itself.
/// </summary>
public sealed record AgentOptions
{
    /// <summary>The number of bytes in <see cref="InstanceKey"/>.</summary>
    public const int InstanceKeyLength = 16;

    private const int UsualHttpsPort = 443;
    private const int UsualHttpPort = 80;
    private const int UsualPublicPort = 12_000;

    /// <summary>The server's uplink listener.</summary>
    public ServerEndpoint Server { get; init; } = ServerEndpoint.Default;

    /// <summary>Further servers, with which the agent has sessions under the same name at the same time; at most three.</summary>
    internal IReadOnlyList<ServerAccess> Further { get; init; } = [];

    /// <summary>Whether these are the options for one of several servers.</summary>
    internal bool IsOneOfSeveral { get; init; }

    /// <summary>
    /// Whether a name that leads to an address of this machine, or to one of no single machine, is not dialled: another machine has chosen
    /// it.
    /// </summary>
    internal bool AvoidsThisMachine { get; init; }

    /// <summary>
    /// With how many nodes of a cluster a tunnel of HTTP has sessions at the same time, 1 to 4. Those that no option names are announced
    /// by the server. Where the server is no node, or knows no other, there is one.
    /// </summary>
    public int Nodes { get; init; } = 2;

    /// <summary>How the uplinks reach the server.</summary>
    public UplinkWay Uplink { get; init; }

    /// <summary>
    /// The server's public port, for uplinks over WebSocket; null: 443, without TLS 80, without TLS on this machine 12000.
    /// </summary>
    public int? PublicPort { get; init; }

    /// <summary>The proxy through which the server is reached; null: none.</summary>
    public ProxyAddress? Proxy { get; init; }

    /// <summary>Where uplinks over WebSocket go.</summary>
    internal ServerEndpoint WebSocketServer => Server with
    {
        Port = PublicPort
            ?? (Tls is not null ? UsualHttpsPort : TlsOptionsParser.IsThisMachine(Server.Host) ? UsualPublicPort : UsualHttpPort),
    };

    /// <summary>Where a way of uplinks leads.</summary>
    internal ServerEndpoint ServerOn(UplinkWay way) => way == UplinkWay.WebSocket ? WebSocketServer : Server;

    /// <summary>
    /// Whether the agent may go over WebSocket while the uplink's port cannot be reached. On this machine nothing is between the two,
    /// so a public port must be named: another server may be at the usual one.
    /// </summary>
    internal bool MayChangeWay => Uplink == UplinkWay.Auto && (PublicPort is not null || !TlsOptionsParser.IsThisMachine(Server.Host));

    /// <summary>
    /// The wanted public name. Where the user named none, 10 random characters of <c>[a-z0-9]</c>, drawn once when the options are made, so
    /// that the public URL stays the same over reconnects.
    /// </summary>
    public string Name { get; init; } = AgentName.CreateRandom();

    /// <summary>
    /// The names and domains that the user has given; empty: none, and <see cref="Name"/> is random. An agent has only one: a program
    /// runs one for each (<see cref="DomainOptionsParser.Split"/>).
    /// </summary>
    internal IReadOnlyList<WantedName> Wanted { get; init; } = [];

    /// <summary>The secret that proves who the agent is, or null. Never printed, <see cref="ToString"/> included.</summary>
    public string? Token { get; init; }

    /// <summary>How the uplink is encrypted; null: it is not.</summary>
    public TlsOptions? Tls { get; init; }

    /// <summary>
    /// Whether the token may leave this machine unencrypted, for networks that are private by themselves. Otherwise an agent with a token
    /// only talks to a server on loopback when <see cref="Tls"/> is null.
    /// </summary>
    public bool AllowPlaintextToken { get; init; }

    /// <summary>The private service that requests go to.</summary>
    public required BackendTarget Upstream { get; init; }

    /// <summary>
    /// Other services, for the paths below some paths; the longest path that fits counts. What fits none goes to <see cref="Upstream"/>.
    /// </summary>
    public IReadOnlyList<ServiceRoute> Routes { get; init; } = [];

    /// <summary>What the tunnel carries.</summary>
    public SessionKind Kind { get; init; }

    /// <summary>The public port of a tunnel of TCP; 0: the server chooses, and another port may be chosen after it restarts.</summary>
    public int RemotePort { get; init; }

    /// <summary>
    /// The version of the PROXY protocol's header, 1 or 2, with which each connection of a tunnel without HTTP begins; 0: none.
    /// </summary>
    public int ProxyProtocol { get; init; }

    /// <summary>Which version of HTTP the agent speaks with the service.</summary>
    public BackendProtocol BackendProtocol { get; init; }

    /// <summary>Who may visit the tunnel; null: all.</summary>
    public AccessRules? Access { get; init; }

    /// <summary>Whether the agent shares its name with other agents of the same owner.</summary>
    public bool Pool { get; init; }

    /// <summary>How the agent of a pool checks its service.</summary>
    public HealthCheck Health { get; init; } = new();

    /// <summary>Which Host header the backend sees.</summary>
    public HostHeaderPolicy HostHeader { get; init; }

    /// <summary>How many uplinks the session uses.</summary>
    public UplinkPolicy Uplinks { get; init; }

    /// <summary>Requests that the agent takes at once, 1–65,536; those beyond are refused (503), and nothing is done with them.</summary>
    public int MaxStreams { get; init; } = ProtocolLimits.MaxSlots;

    /// <summary>How many connections to services the process has at most; the first agent of a process decides for all.</summary>
    public ConnectionLimit BackendConnections { get; init; }

    /// <summary>
    /// MiB that the process may hold of bodies that services have not taken, 16–65,536; null: a quarter of its memory, 16 to 256. The first
    /// agent of a process decides for all.
    /// </summary>
    public int? BufferMegabytes { get; init; }

    /// <summary>
    /// Event loops of the process, 1–32; null: one, and one more with each uplink that joins others, up to the processors that the
    /// process may use. The first agent of a process decides for all. The portable engine has none.
    /// </summary>
    public int? Loops { get; init; }

    /// <summary>Whether the agent ends (exit code 4) when the server cannot be reached, instead of trying again.</summary>
    public bool ExitOnFailure { get; init; }

    /// <summary>
    /// Whether the agent connects to the backend by itself, at the start and while it is down, to report to the user when it cannot be
    /// reached.
    /// </summary>
    public bool WatchesBackend { get; init; }

    /// <summary>
    /// Whether connections to the backend are used again at once from the first response on. Otherwise they rest for a moment, until the
    /// backend has shown that it sends nothing after its responses.
    /// </summary>
    internal bool TrustsBackend { get; init; }

    /// <summary>
    /// Whether the last exchanges are kept for a look at them; null: where a person sees the output, as the program that runs the agent
    /// decides.
    /// </summary>
    public bool? Inspects { get; init; }

    /// <summary>Where the inspector listens; null: at the first free port from 4040 to 4049 of 127.0.0.1.</summary>
    public InspectorAddress? InspectorAddress { get; init; }

    /// <summary>Names by which the inspector is called, beside those of this machine, with or without a port.</summary>
    public IReadOnlyList<string> InspectorHosts { get; init; } = [];

    /// <summary>Further names of fields and keys whose values the inspector masks, <c>*</c> for any characters.</summary>
    public IReadOnlyList<string> InspectorMasks { get; init; } = [];

    /// <summary>MiB that the exchanges of a tunnel may take in all, 1–1,024.</summary>
    public int InspectorMegabytes { get; init; } = 16;

    /// <summary>The secret that callers of the inspector show where it listens to other machines, or null. Never printed.</summary>
    public string? InspectorToken { get; init; }

    /// <summary>How long requests under way may take when the agent is asked to stop.</summary>
    internal TimeSpan DrainLimit { get; init; } = TimeSpan.FromSeconds(30);

    /// <summary>Ends a drain at once: what is under way then is cut.</summary>
    internal CancellationToken Hurry { get; init; }

    /// <summary>What keeps the exchanges; null: nothing does.</summary>
    internal AgentInspection? Inspection { get; init; }

    /// <summary>Whether a line per request and per attempt to connect is written.</summary>
    public bool Verbose { get; init; }

    /// <summary>Whether events are written as one JSON object per line.</summary>
    public bool Json { get; init; }

    /// <summary>Whether lines are written where a terminal could show a live screen.</summary>
    public bool Plain { get; init; }

    /// <summary>
    /// 16 random bytes, drawn when the options are made. Without a token this is what proves to the server that a reconnecting agent is the
    /// owner of its name, so it is as secret as a token.
    /// </summary>
    public ReadOnlyMemory<byte> InstanceKey { get; init; } = System.Security.Cryptography.RandomNumberGenerator.GetBytes(InstanceKeyLength);

    /// <summary>
    /// A secret that outlives this process, 32 bytes, or empty: where there is no token, the server keeps a name and the requests that wait
    /// for it for the next agent that shows it. Default: empty, and a restarted agent counts as a stranger.
    /// </summary>
    public ReadOnlyMemory<byte> OwnerKey { get; init; }

    // Replaces the record's own printing, which would show the token and the instance key.
    private bool PrintMembers(StringBuilder builder)
    {
        builder.Append("Server = ").Append(Server)
            .Append(", Further = ").AppendJoin(" | ", Further.Select(static one => one.Server))
            .Append(", Tls = ").Append(Tls is not null)
            .Append(", Nodes = ").Append(Nodes)
            .Append(", Uplink = ").Append(Uplink)
            .Append(", PublicPort = ").Append(PublicPort?.ToString(CultureInfo.InvariantCulture) ?? "usual")
            .Append(", Proxy = ").Append(Proxy?.ToString() ?? "none")
            .Append(", Name = ").Append(Name)
            .Append(", Token = ").Append(Token is null ? "none" : "(hidden)")
            .Append(", Upstream = ").Append(Upstream)
            .Append(", Routes = ").AppendJoin(" | ", Routes)
            .Append(", Kind = ").Append(Kind)
            .Append(", RemotePort = ").Append(RemotePort)
            .Append(", ProxyProtocol = ").Append(ProxyProtocol)
            .Append(", BackendProtocol = ").Append(BackendProtocol)
            .Append(", Access = ").Append(Access?.ToString() ?? "all")
            .Append(", Pool = ").Append(Pool)
            .Append(", Health = ").Append(Health.Target ?? "none")
            .Append(", HostHeader = ").Append(HostHeader.ToString())
            .Append(", Uplinks = ").Append(Uplinks.ToString())
            .Append(", MaxStreams = ").Append(MaxStreams)
            .Append(", BackendConnections = ").Append(BackendConnections.ToString())
            .Append(", BufferMegabytes = ").Append(BufferMegabytes?.ToString(CultureInfo.InvariantCulture) ?? "auto")
            .Append(", Loops = ").Append(Loops?.ToString(CultureInfo.InvariantCulture) ?? "auto")
            .Append(", ExitOnFailure = ").Append(ExitOnFailure)
            .Append(", Verbose = ").Append(Verbose)
            .Append(", Json = ").Append(Json)
            .Append(", Plain = ").Append(Plain);
        return true;
    }
}
