using System.Net;
using System.Text;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Telemetry.Relay;

namespace Tunnel2.Client.Live;

/// <summary>The relay to follow, and how. Immutable.</summary>
/// <param name="Server">Its address.</param>
/// <param name="Tls">How it is trusted; null for plaintext.</param>
/// <param name="Token">The admin token of its server, or null.</param>
internal sealed record RelayTarget(ServerEndpoint Server, TlsOptions? Tls, string? Token)
{
    /// <summary>The relay's usual port.</summary>
    public const int DefaultPort = 12003;

    /// <summary>The flags that say how to reach a relay.</summary>
    public static IReadOnlyList<string> Flags { get; } = ["--host", "--token", "--server-fingerprint", "--server-ca"];

    /// <summary>The address to connect to.</summary>
    public EndPoint EndPoint => IPAddress.TryParse(Server.Host, out IPAddress? address)
        ? new IPEndPoint(address, Server.Port)
        : new DnsEndPoint(Server.Host, Server.Port);

    /// <summary>Reads the flags. Whether there is TLS is decided as for an agent's server.</summary>
    /// <param name="value">The value of a flag, or null.</param>
    /// <param name="environment">The environment.</param>
    /// <param name="mistakes">Receives what is wrong.</param>
    /// <returns>Null without <c>--host</c>, or when there is a mistake.</returns>
    public static RelayTarget? Parse(Func<string, string?> value, Func<string, string?> environment, List<string> mistakes)
    {
        if (value("--host") is not { } text)
        {
            mistakes.AddRange(Flags.Skip(1).Where(flag => value(flag) is not null).Select(static flag => $"{flag}: needs --host"));
            return null;
        }

        string address = TlsOptionsParser.TakeScheme(text, out bool? wantsTls);
        if (HostPort.TrySplit(address, out string host, out int? port) is { } problem)
        {
            mistakes.Add($"--host: {problem}");
            return null;
        }

        var server = new ServerEndpoint(host, port ?? DefaultPort);
        AgentOptionsInput input = Flags.Skip(2).Aggregate(
            new AgentOptionsInput(), (given, flag) => given.Give(flag, value(flag)));
        var found = new List<OptionMistake>();
        TlsOptions? tls = TlsOptionsParser.Parse(input, server, wantsTls, found);
        mistakes.AddRange(found.Select(static one => $"{(one.Flag == "--server" ? "--host" : one.Flag)}: {one.Message}"));
        string? token = value("--token")
            ?? (environment(TopCommandLine.TokenVariable) is { Length: > 0 } fromEnvironment ? fromEnvironment : null);
        if (token is not null
            && tls is null
            && !TlsOptionsParser.IsThisMachine(host)
            && environment("TUNNEL2_ALLOW_PLAINTEXT") is not ("1" or "true"))
        {
            mistakes.Add(
                "--token: would leave this machine unencrypted; --host tls://… encrypts it, TUNNEL2_ALLOW_PLAINTEXT=1 permits it on a "
                    + "network that is private by itself");
        }

        if (token is not null && Encoding.UTF8.GetByteCount(token) > RelayFrame.MaxToken)
        {
            mistakes.Add($"--token: is longer than {RelayFrame.MaxToken} bytes");
        }

        return mistakes.Count > 0 ? null : new RelayTarget(server, tls, token);
    }

    /// <summary>The address, without the token.</summary>
    public override string ToString() => $"{(Tls is null ? "tcp" : "tls")}://{Server}";
}
