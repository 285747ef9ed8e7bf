using System.Globalization;
using System.Net;
using Tunnel2.LoadTests.Scenarios;

namespace Tunnel2.LoadTests;

/// <summary>Reads the command line.</summary>
internal static class CommandLine
{
    /// <summary>What there is.</summary>
    public static string Usage =>
        $"""
        usage: tunnel2-load SCENARIO... [options]

          Starts ProxyEntry, an agent and a test backend (built in this repository) on loopback, sends requests on a schedule, and checks
          every byte of every answer. Exit code: 0 every pass rule holds, 1 one does not, 2 it was not begun, 130 it was stopped (Ctrl+C).

          --duration-scale X   multiplies every duration (default 1): 0.1 is a quick look
          --warm-up SECONDS    how long each kind of request is sent before it counts (default 3)
          --results FOLDER     where results.json, results.md and results.html go (default: a new folder in artifacts/load-tests)
          --url URL            send to http://ADDRESS:PORT, where a tunnel to a test backend runs already; loopback only
          --host NAME          the tunnel's Host there (default: that of the URL); once for each session
          --allow-remote       a --url off loopback is meant
          --as-ancestor        runs each scenario a second time through the design before this one (HttpClient in the agent, one lock
                               per write), on this machine; for comparison, it decides nothing

        scenarios ('all' runs all except 'schedule', 'acceptance' those with a figure of the ancestor):
        {List()}
        """;

    /// <summary>The scenarios, one a line.</summary>
    public static string List() =>
        string.Join('\n', ScenarioCatalog.All.Select(static scenario => $"  {scenario.Name,-16} {scenario.Description}"));

    /// <summary>Reads it.</summary>
    /// <param name="arguments">The arguments.</param>
    /// <param name="error">What is wrong with them; null where only the usage was asked for.</param>
    /// <returns>Null: there is nothing to run.</returns>
    public static LoadOptions? Parse(IReadOnlyList<string> arguments, out string? error)
    {
        var options = new LoadOptions();
        var scenarios = new List<string>();
        var hosts = new List<string>();
        Uri? url = null;
        var allowRemote = false;
        error = null;
        for (var i = 0; i < arguments.Count; i++)
        {
            var value = i + 1 < arguments.Count ? arguments[i + 1] : null;
            switch (arguments[i])
            {
                case "--help" or "-h":
                    return null;
                case "--allow-remote":
                    allowRemote = true;
                    continue;
                case "--as-ancestor":
                    options = options with { AsAncestor = true };
                    continue;
                case "--duration-scale" when TryNumber(value, out var scale) && scale is > 0 and <= 1000:
                    options = options with { DurationScale = scale };
                    break;
                case "--warm-up" when TryNumber(value, out var seconds) && seconds is > 0 and <= 600:
                    options = options with { WarmUp = TimeSpan.FromSeconds(seconds) };
                    break;
                case "--results" when !string.IsNullOrWhiteSpace(value):
                    options = options with { Results = value };
                    break;
                case "--url" when Uri.TryCreate(value, UriKind.Absolute, out url) && url.Scheme == Uri.UriSchemeHttp:
                    if (url.PathAndQuery != "/" || url.UserInfo.Length > 0)
                    {
                        error = "--url takes http://ADDRESS:PORT and no more: the scenarios have paths of their own.";
                        return null;
                    }

                    break;
                case "--host" when value is not null:
                    hosts.Add(value);
                    break;
                case ['-', ..] flag:
                    error = $"Cannot understand {flag}{(value is null ? "" : $" {value}")}.";
                    return null;
                case var name:
                    scenarios.Add(name);
                    continue;
            }

            i++;
        }

        return Complete(options with { Scenarios = scenarios, Hosts = hosts }, url, allowRemote, out error);
    }

    private static LoadOptions? Complete(LoadOptions options, Uri? url, bool allowRemote, out string? error)
    {
        var unknown = options.Scenarios.FirstOrDefault(static name => !ScenarioCatalog.IsName(name));
        error = options.Scenarios.Count == 0 ? $"Name a scenario:\n{List()}"
            : unknown is not null ? $"There is no scenario '{unknown}'. There are:\n{List()}"
            : url is null && options.Hosts.Count > 0 ? "--host goes with --url."
            : url is not null && options.AsAncestor ? "--as-ancestor starts the ancestor's design itself: leave out --url."
            : null;
        if (error is not null || url is null)
        {
            return error is null ? options : null;
        }

        if (!TryResolve(url, out var address))
        {
            error = $"Cannot find the address of {url.Host}.";
            return null;
        }

        if (!IPAddress.IsLoopback(address) && !allowRemote)
        {
            error = $"{url.Host} is not this machine. Load on other people's machines is an attack; --allow-remote says that it is yours.";
            return null;
        }

        return options with
        {
            Target = new IPEndPoint(address, url.Port),
            Hosts = options.Hosts.Count > 0 ? options.Hosts : [url.Authority],
        };
    }

    private static bool TryResolve(Uri url, out IPAddress address)
    {
        // Not every resolver knows names below localhost.
        if (url.IsLoopback || url.Host.EndsWith(".localhost", StringComparison.OrdinalIgnoreCase))
        {
            address = url.HostNameType == UriHostNameType.IPv6 ? IPAddress.IPv6Loopback : IPAddress.Loopback;
            return true;
        }

        try
        {
            address = Dns.GetHostAddresses(url.DnsSafeHost)[0];
            return true;
        }
        catch (Exception e) when (e is System.Net.Sockets.SocketException or ArgumentException)
        {
            address = IPAddress.None;
            return false;
        }
    }

    private static bool TryNumber(string? text, out double number) =>
        double.TryParse(text, NumberStyles.AllowDecimalPoint, CultureInfo.InvariantCulture, out number);
}
