using System.Net;

namespace Tunnel2.Client.Core.Configuration;

/// <summary>
/// Decides through which proxy the agent goes: <c>--proxy</c>, or the usual variables HTTPS_PROXY and ALL_PROXY, except for servers that
/// NO_PROXY names and for this machine.
/// </summary>
internal static class ProxyOptionsParser
{
    /// <summary>The key of the usual variables in an <see cref="AgentOptionsInput"/>.</summary>
    public const string EnvironmentKey = "HTTPS_PROXY";

    /// <summary>The key of the variable with the exceptions.</summary>
    public const string ExceptionsKey = "NO_PROXY";

    private const string Flag = "--proxy";
    private const string AuthoritiesFlag = "--proxy-ca";

    /// <summary>The variables, the first one that is set counts. Programs of different families read different ones.</summary>
    public static IReadOnlyList<string> Variables { get; } = [EnvironmentKey, "https_proxy", "ALL_PROXY", "all_proxy"];

    /// <summary>The variables with the exceptions.</summary>
    public static IReadOnlyList<string> ExceptionVariables { get; } = [ExceptionsKey, "no_proxy"];

    /// <summary>Judges the settings.</summary>
    /// <param name="input">What was given.</param>
    /// <param name="server">Where the agent connects to.</param>
    /// <param name="mistakes">Receives what is wrong.</param>
    /// <returns>Null: no proxy.</returns>
    public static ProxyAddress? Parse(AgentOptionsInput input, ServerEndpoint server, List<OptionMistake> mistakes)
    {
        var key = input[Flag] is not null ? Flag : EnvironmentKey;
        if (input[key] is not { } text || text.Equals("off", StringComparison.OrdinalIgnoreCase))
        {
            if (input[key] is null && input.IsMeant(AuthoritiesFlag))
            {
                mistakes.Add(new OptionMistake(
                    AuthoritiesFlag, $"says nothing without a proxy, which {Flag} or {EnvironmentKey} names"));
            }

            return null;
        }

        if (key == EnvironmentKey && (TlsOptionsParser.IsThisMachine(server.Host) || IsExcepted(input[ExceptionsKey] ?? "", server)))
        {
            return null;
        }

        if (ProxyAddress.TryParse(text, out var proxy) is { } mistake)
        {
            mistakes.Add(new OptionMistake(key, mistake));
        }

        if (proxy is null || TlsOptionsParser.Filled(AuthoritiesFlag, input, mistakes) is not { } file)
        {
            return proxy;
        }

        if (proxy.Kind != ProxyKind.Https)
        {
            mistakes.Add(new OptionMistake(AuthoritiesFlag, "is for a proxy that speaks TLS; write the proxy https://host:port"));
        }

        TlsOptionsParser.Check(AuthoritiesFlag, file, () => TlsFiles.LoadAuthorities(file), mistakes);
        return proxy with { AuthoritiesFile = file };
    }

    /// <summary>
    /// Whether a server is one of those that are reached without the proxy: <c>*</c>, a name with the names below it, an address or a
    /// network (CIDR), each with or without a port.
    /// </summary>
    public static bool IsExcepted(string exceptions, ServerEndpoint server)
    {
        var isAddress = IPAddress.TryParse(server.Host, out var address);
        foreach (var range in exceptions.AsSpan().SplitAny(',', ' ', ';'))
        {
            var one = exceptions.AsSpan(range).Trim();
            if (one.IsEmpty)
            {
                continue;
            }

            if (one is "*" || (isAddress && IPNetwork.TryParse(one, out var network) && network.Contains(address!)))
            {
                return true;
            }

            if (HostPort.TrySplit(one.TrimStart('*').TrimStart('.').ToString(), out var host, out var port) is null
                && (port ?? server.Port) == server.Port
                && (isAddress ? IPAddress.TryParse(host, out var other) && other.Equals(address) : IsBelow(server.Host, host)))
            {
                return true;
            }
        }

        return false;
    }

    private static bool IsBelow(string host, string domain) =>
        host.EndsWith(domain, StringComparison.OrdinalIgnoreCase)
        && (host.Length == domain.Length || host[^(domain.Length + 1)] == '.');
}
