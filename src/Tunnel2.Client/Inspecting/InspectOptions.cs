using Tunnel2.Client.CommandLine;
using Tunnel2.Client.Core.Configuration;

namespace Tunnel2.Client.Inspecting;

/// <summary>The options of <c>tunnel2 inspect export</c>. Immutable.</summary>
/// <param name="File">Where to write; <c>-</c> is the standard output.</param>
/// <param name="From">The root of the inspector's paths.</param>
/// <param name="Name">The tunnel, or null for the only one.</param>
/// <param name="Reveals">Whether secrets are written.</param>
/// <param name="Token">The inspector's token, or null.</param>
internal sealed record InspectOptions(string File, Uri From, string? Name, bool Reveals, string? Token)
{
    private const string TokenVariable = "TUNNEL2_INSPECT_TOKEN";
    private const string AdminTokenVariable = "TUNNEL2_ADMIN_TOKEN";

    /// <summary>Reads a command line whose first word is <c>inspect</c>.</summary>
    /// <param name="args">The words.</param>
    /// <param name="environment">Returns the value of a variable, or null.</param>
    /// <param name="mistake">What is wrong, or null.</param>
    public static InspectOptions? Parse(string[] args, Func<string, string?> environment, out string? mistake)
    {
        ParsedLine line = CommandLineReader.Read(args);
        mistake = line.Mistakes.Count > 0 ? string.Join("; ", line.Mistakes) : null;
        if (mistake is not null)
        {
            return null;
        }

        if (line["--har"] is not { Length: > 0 } file)
        {
            mistake = "--har: is missing; it names the file";
            return null;
        }

        string text = line["--from"] ?? "127.0.0.1";
        if (TryParse(text, out var from, out bool isUrl) is { } problem)
        {
            mistake = $"--from: {problem}";
            return null;
        }

        // A URL is that of a server's admin listener, or of an inspector behind a proxy with TLS.
        string? ofAgent = Variable(TokenVariable);
        string? token = line["--token"] ?? (isUrl ? Variable(AdminTokenVariable) ?? ofAgent : ofAgent);
        if (token is not null
            && (isUrl || line.Has("--token"))
            && from!.Scheme == Uri.UriSchemeHttp
            && !TlsOptionsParser.IsThisMachine(from.DnsSafeHost)
            && environment("TUNNEL2_ALLOW_PLAINTEXT") is not ("1" or "true"))
        {
            mistake = "--token: would leave this machine unencrypted; --from https://… encrypts it, TUNNEL2_ALLOW_PLAINTEXT=1 permits it "
                + "on a network that is private by itself";
            return null;
        }

        return new InspectOptions(file, from!, line["--name"], line.Has("--reveal"), token);

        string? Variable(string name) => environment(name) is { Length: > 0 } secret ? secret : null;
    }

    /// <summary>
    /// Reads <c>host[:port]</c> of an agent's inspector, or a URL; that of the inspector's page will do, as it is copied from a browser.
    /// </summary>
    /// <returns>Null, or what is wrong in words that fit after "flag: ".</returns>
    private static string? TryParse(string text, out Uri? from, out bool isUrl)
    {
        from = null;
        int scheme = text.IndexOf("://", StringComparison.Ordinal);
        isUrl = scheme >= 0;
        string name = isUrl ? text[..scheme].ToLowerInvariant() : Uri.UriSchemeHttp;
        string rest = isUrl ? text[(scheme + 3)..].Split('#', 2)[0] : text;
        if (name is not ("http" or "https"))
        {
            return "begins with http:// or https://, or is host:port";
        }

        if (isUrl && rest.Contains('@', StringComparison.Ordinal))
        {
            return $"has no user and password; the token is in {AdminTokenVariable}, {TokenVariable} or --token";
        }

        int slash = isUrl ? rest.IndexOf('/', StringComparison.Ordinal) : -1;
        if (slash >= 0 && rest[slash..] is not ("/" or "/inspector" or "/inspector/"))
        {
            return "is the address alone, or that of the inspector's page";
        }

        if (HostPort.TrySplit(slash < 0 ? rest : rest[..slash], out string host, out int? port) is { } problem)
        {
            return problem;
        }

        int usualPort = !isUrl ? InspectorAddress.DefaultPort : name == "https" ? 443 : 80;
        from = new Uri($"{name}://{HostPort.Format(host, port ?? usualPort)}/");
        return null;
    }
}
