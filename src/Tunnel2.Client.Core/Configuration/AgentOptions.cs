using System.Text;

namespace Tunnel2.Client.Core.Configuration;

/// <summary>
/// Everything an agent is told when it starts. Immutable and safe to share between threads. Made by
/// <see cref="AgentOptionsParser.Parse(AgentOptionsInput)"/>, or directly by a program that runs an agent inside itself.
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

    /// <summary>Whether the agent ends (exit code 4) when the server cannot be reached, instead of trying again.</summary>
    public bool ExitOnFailure { get; init; }

    /// <summary>Whether a line per request and per attempt to connect is written.</summary>
    public bool Verbose { get; init; }

    /// <summary>Whether events are written as one JSON object per line.</summary>
    public bool Json { get; init; }

    /// <summary>
    /// 16 random bytes, drawn when the options are made. Without a token this is what proves to the server that a reconnecting agent is the
    /// owner of its name, so it is as secret as a token.
    /// </summary>
    public ReadOnlyMemory<byte> InstanceKey { get; init; } = System.Security.Cryptography.RandomNumberGenerator.GetBytes(InstanceKeyLength);

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
            .Append(", ExitOnFailure = ").Append(ExitOnFailure)
            .Append(", Verbose = ").Append(Verbose)
            .Append(", Json = ").Append(Json);
        return true;
    }
}
