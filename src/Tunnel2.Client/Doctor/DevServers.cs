namespace Tunnel2.Client.Doctor;

/// <summary>Knows how development servers refuse a Host that they do not know, and what allows it.</summary>
internal static class DevServers
{
    private const string OrRewrite = ", or start the tunnel with --host-header rewrite";

    /// <summary>
    /// Reads the answer to a request with the public host.
    /// </summary>
    /// <param name="status">Its status.</param>
    /// <param name="body">The beginning of its body.</param>
    /// <param name="host">The public host, without a port.</param>
    /// <returns>Which server refuses, and the remedy; null: none that is known.</returns>
    public static (string Server, string Remedy)? Recognise(int status, string body, string host)
    {
        // webpack-dev-server before version 5 refuses with 200 and these words alone.
        if ((status is < 400 or >= 500) && (status != 200 || body.Trim() != "Invalid Host header"))
        {
            return null;
        }

        if (Has("Blocked request.") && Has("allowedHosts"))
        {
            return ("Vite", $"allow the host: server.allowedHosts: ['{host}'] in vite.config{OrRewrite}");
        }

        if (Has("Invalid Host header") || Has("Invalid Host/Origin header"))
        {
            return (
                "webpack-dev-server",
                $"allow the host: --allowed-hosts {host}, or devServer.allowedHosts in its configuration{OrRewrite}");
        }

        if (Has("Blocked host") && (Has("config.hosts") || Has("Rails") || Has("ActionDispatch")))
        {
            return ("Rails", $"allow the host: config.hosts << \"{host}\" in config/environments/development.rb{OrRewrite}");
        }

        if (Has("DisallowedHost") || Has("ALLOWED_HOSTS") || (status == 400 && Has("<h1>Bad Request (400)</h1>")))
        {
            return ("Django", $"allow the host: ALLOWED_HOSTS = [\"{host}\"] in settings.py{OrRewrite}");
        }

        return Has("allowedDevOrigins")
            ? ("Next.js", $"allow the host: allowedDevOrigins: ['{host}'] in next.config{OrRewrite}")
            : null;

        bool Has(string words) => body.Contains(words, StringComparison.OrdinalIgnoreCase);
    }

    /// <summary>What a server that answers well will still refuse, by what its answers say of it; null: nothing is known.</summary>
    /// <param name="poweredBy">The field X-Powered-By, or null.</param>
    /// <param name="host">The public host, without a port.</param>
    public static string? Note(string? poweredBy, string host) => poweredBy is "Next.js"
        ? $"Next.js in development refuses scripts of other origins: allowedDevOrigins: ['{host}'] in next.config allows them"
        : null;
}
