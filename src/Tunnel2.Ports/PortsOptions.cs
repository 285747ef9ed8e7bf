using System.Diagnostics.CodeAnalysis;
using System.Globalization;
using System.Net;
using System.Net.Sockets;

namespace Tunnel2.Ports;

/// <summary>The checked command line.</summary>
/// <param name="Path">The Unix socket for the processes that take the sockets.</param>
/// <param name="Listeners">The names and addresses, in order: at least one, and no name twice.</param>
internal sealed record PortsOptions(string Path, IReadOnlyList<(string Name, IPEndPoint EndPoint)> Listeners)
{
    /// <summary>The names of tunnel2-entry's listeners.</summary>
    private static readonly string[] _names = ["public", "https", "uplink", "admin"];

    /// <summary>Reads the command line.</summary>
    /// <param name="args">The words of the command line.</param>
    /// <param name="mistake">The mistake, when the result is null.</param>
    public static PortsOptions? Parse(string[] args, out string mistake)
    {
        var path = "";
        var listeners = new List<(string Name, IPEndPoint EndPoint)>();
        for (var i = 0; i < args.Length; i++)
        {
            if (args[i].StartsWith("--socket=", StringComparison.Ordinal))
            {
                path = args[i]["--socket=".Length..];
            }
            else if (args[i] == "--socket" && i + 1 < args.Length)
            {
                path = args[++i];
            }
            else if (Add(args[i], listeners) is { } wrong)
            {
                mistake = $"'{args[i]}': {wrong}";
                return null;
            }
        }

        mistake = path.Length == 0 ? "--socket PATH is missing"
            : listeners.Count == 0 ? "no listener is given, such as public=*:12000"
            : "";
        return mistake.Length > 0 ? null : new PortsOptions(path, listeners);
    }

    /// <summary>Reads a word NAME=ADDRESS.</summary>
    /// <returns>The mistake, or null.</returns>
    private static string? Add(string word, List<(string Name, IPEndPoint EndPoint)> listeners)
    {
        var parts = word.Split('=', 2);
        if (!_names.Contains(parts[0]))
        {
            return "a listener is public, https, uplink or admin, such as public=*:12000";
        }

        if (parts.Length < 2 || !TryParse(parts[1], out var endPoint))
        {
            return "an address is 127.0.0.1:12000, localhost:12000, [::1]:12000 or *:12000";
        }

        if (listeners.Exists(listener => listener.Name == parts[0]))
        {
            return $"there is another {parts[0]}";
        }

        listeners.Add((parts[0], endPoint));
        return null;
    }

    /// <summary>Reads an address in the forms that the settings of tunnel2-entry accept.</summary>
    private static bool TryParse(ReadOnlySpan<char> text, [NotNullWhen(true)] out IPEndPoint? endPoint)
    {
        endPoint = null;
        var colon = text.LastIndexOf(':');
        if (colon <= 0 || !ushort.TryParse(text[(colon + 1)..], NumberStyles.None, CultureInfo.InvariantCulture, out var port))
        {
            return false;
        }

        // A socket on :: also accepts IPv4; without IPv6 in the system there is only 0.0.0.0.
        var address = text[..colon] switch
        {
            "*" => Socket.OSSupportsIPv6 ? IPAddress.IPv6Any : IPAddress.Any,
            "localhost" => IPAddress.Loopback,
            ['[', .. var inner, ']'] => Address(inner, AddressFamily.InterNetworkV6),
            var host => host.Count('.') == 3 ? Address(host, AddressFamily.InterNetwork) : null,
        };
        endPoint = address is null ? null : new IPEndPoint(address, port);
        return endPoint is not null;
    }

    private static IPAddress? Address(ReadOnlySpan<char> text, AddressFamily family) =>
        IPAddress.TryParse(text, out var address) && address.AddressFamily == family ? address : null;
}
