using System.Globalization;
using Tunnel2.Protocol.Handshake;
using Tunnel2.ProxyEntry.Sessions;

namespace Tunnel2.ProxyEntry.Fronts.Raw;

/// <summary>Where connections without HTTP lead. Immutable.</summary>
/// <param name="Kind">What they carry.</param>
/// <param name="Host">The host under which the session is found, such as <c>ssh.example.com</c>.</param>
/// <param name="Port">The port that visitors call.</param>
internal sealed record RawTarget(SessionKind Kind, string Host, int Port)
{
    /// <summary>The scheme of its connections on an uplink.</summary>
    public string Scheme => SchemeOf(Kind);

    /// <summary>Host and port.</summary>
    public string Authority { get; } = string.Create(CultureInfo.InvariantCulture, $"{Host}:{Port}");

    /// <summary>What logs and records have in place of a path.</summary>
    public string Text { get; } = string.Create(CultureInfo.InvariantCulture, $"{SchemeOf(Kind)}:{Port}");

    /// <summary>Whether a session is the one that is meant: of a port, only the one that has it.</summary>
    public bool IsOf(EntrySession session) => session.Kind == Kind && (Kind == SessionKind.Tls || session.Lease?.Port == Port);

    private static string SchemeOf(SessionKind kind) => kind switch
    {
        SessionKind.Tcp => "tcp",
        SessionKind.Udp => "udp",
        _ => "tls",
    };
}
