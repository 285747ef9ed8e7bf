using System.Globalization;
using System.Text;
using Tunnel2.Protocol;

namespace Tunnel2.Client.Core.Configuration;

/// <summary>
/// All settings of an agent. Immutable and safe to share between threads. Made by
/// the program <c>tunnel2</c> from what its user gave, or directly by a program that runs an agent inside itself.
/// </summary>
public sealed record AgentOptions
{
    /// <summary>The number of bytes in <see cref="InstanceKey"/>.</summary>
    public const int InstanceKeyLength = 16;

    /// <summary>The server's uplink listener.</summary>
    public ServerEndpoint Server { get; init; } = ServerEndpoint.Default;

    /// <summary>
    /// The wanted public name. Where the user named none, 10 random characters of <c>[a-z0-9]</c>, drawn once when the options are made, so
    /// that the public URL stays the same over reconnects.
    /// </summary>
    public string Name { get; init; } = AgentName.CreateRandom();

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

    /// <summary>Whether a line per request and per attempt to connect is written.</summary>
    public bool Verbose { get; init; }

    /// <summary>Whether events are written as one JSON object per line.</summary>
    public bool Json { get; init; }

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
            .Append(", Tls = ").Append(Tls is not null)
            .Append(", Name = ").Append(Name)
            .Append(", Token = ").Append(Token is null ? "none" : "(hidden)")
            .Append(", Upstream = ").Append(Upstream)
            .Append(", HostHeader = ").Append(HostHeader.ToString())
            .Append(", Uplinks = ").Append(Uplinks.ToString())
            .Append(", MaxStreams = ").Append(MaxStreams)
            .Append(", BackendConnections = ").Append(BackendConnections.ToString())
            .Append(", BufferMegabytes = ").Append(BufferMegabytes?.ToString(CultureInfo.InvariantCulture) ?? "auto")
            .Append(", Loops = ").Append(Loops?.ToString(CultureInfo.InvariantCulture) ?? "auto")
            .Append(", ExitOnFailure = ").Append(ExitOnFailure)
            .Append(", Verbose = ").Append(Verbose)
            .Append(", Json = ").Append(Json);
        return true;
    }
}
