using System.Text;
using System.Text.Json;
using Tunnel2.Protocol.Handshake;

namespace Tunnel2.Client.Core.Configuration;

/// <summary>Reads the routes of a tunnel: <c>/api=3000</c>, a line each, or a list of tables.</summary>
internal static class RouteOptionsParser
{
    /// <summary>The flag.</summary>
    public const string Flag = "--route";

    private const int MostRoutes = 32;
    private const int LongestPath = 256;
    private const string Strip = ",strip-prefix";

    /// <summary>Reads them into the options. A route for <c>/</c> is the tunnel's own service.</summary>
    /// <returns>What is wrong, in one line; null: nothing.</returns>
    public static string? Read(string text, ref AgentOptions options)
    {
        var routes = new List<ServiceRoute>();
        var mistakes = new List<string>();
        try
        {
            foreach (var (entry, item) in Entries(text))
            {
                var mistake = item is { ValueKind: JsonValueKind.Object } table
                    ? ReadTable(table, out var route)
                    : ReadLine(entry, out route);
                if (mistake is not null)
                {
                    mistakes.Add(mistake);
                }
                else if (routes.Any(known => known.Path == route!.Path))
                {
                    mistakes.Add($"the path {route!.Path} has two services");
                }
                else
                {
                    routes.Add(route!);
                }
            }
        }
        catch (Exception exception) when (IsOfText(exception))
        {
            return "is not a list of routes, as in /api=3000";
        }

        if (routes.Count > MostRoutes)
        {
            return FormattableString.Invariant($"has more than {MostRoutes} routes");
        }

        options = options with { Routes = [.. routes.Where(static route => route.Path != "/")] };
        return mistakes.Count == 0 ? null : string.Join("; ", mistakes);
    }

    /// <summary>The service of <c>/</c> among the routes.</summary>
    /// <param name="text">The routes as they were given.</param>
    /// <returns>The service; null: there is no such route.</returns>
    public static ServiceRoute? RootOf(string text)
    {
        try
        {
            foreach (var (entry, item) in Entries(text))
            {
                ServiceRoute? route;
                _ = item is { ValueKind: JsonValueKind.Object } table ? ReadTable(table, out route) : ReadLine(entry, out route);
                if (route is { Path: "/" })
                {
                    return route;
                }
            }
        }
        catch (Exception exception) when (IsOfText(exception))
        {
            // Reported where all routes are read.
        }

        return null;
    }

    /// <summary>The routes for people: <c>/api -&gt; http://127.0.0.1:3000</c>.</summary>
    public static string Show(string text)
    {
        var options = new AgentOptions { Upstream = new BackendTarget(false, "127.0.0.1", 1) };
        _ = Read(text, ref options);
        var root = RootOf(text);
        return string.Join(
            ", ",
            options.Routes.Concat(root is null ? [] : [root])
                .Select(static route => route + (route.StripsPrefix ? " (without the prefix)" : "")));
    }

    /// <summary>Reports what only all settings together show.</summary>
    public static void Check(AgentOptions options, AgentOptionsInput input, List<OptionMistake> mistakes)
    {
        if (input[Flag] is not null && options.Kind != SessionKind.Http)
        {
            mistakes.Add(new OptionMistake(Flag, "belongs to 'http': only a request of HTTP has a path"));
        }
    }

    /// <summary>Whether a text is no JSON; its escapes can be half a character too, of which no text can be made.</summary>
    private static bool IsOfText(Exception exception) => exception is JsonException or InvalidOperationException;

    private static IEnumerable<(string Entry, JsonElement? Item)> Entries(string text)
    {
        if (!text.StartsWith('['))
        {
            return text.Split('\n').Select(static line => (line, (JsonElement?)null));
        }

        using var json = JsonDocument.Parse(text, new JsonDocumentOptions { MaxDepth = 8 });
        return [.. json.RootElement.EnumerateArray()
            .Select(static item => (
                item.ValueKind == JsonValueKind.String ? item.GetString()! : item.GetRawText(), (JsonElement?)item.Clone()))];
    }

    private static string? ReadLine(string line, out ServiceRoute? route)
    {
        route = null;
        var equals = line.IndexOf('=', StringComparison.Ordinal);
        if (equals < 0)
        {
            return $"'{line}' is not a path and its service, as in /api=3000";
        }

        var service = line[(equals + 1)..].Trim();
        var strips = service.EndsWith(Strip, StringComparison.OrdinalIgnoreCase);
        return Make(line[..equals].Trim(), strips ? service[..^Strip.Length] : service, strips, null, out route);
    }

    private static string? ReadTable(JsonElement table, out ServiceRoute? route)
    {
        route = null;
        string? path = null;
        string? upstream = null;
        string? protocol = null;
        var strips = false;
        foreach (var member in table.EnumerateObject())
        {
            var value = member.Value.ValueKind == JsonValueKind.String ? member.Value.GetString()! : member.Value.GetRawText();
            switch (member.Name)
            {
                case "path":
                    path = value;
                    break;
                case "upstream":
                    upstream = value;
                    break;
                case "backend-protocol":
                    protocol = value;
                    break;
                case "strip-prefix" when value is "true" or "false":
                    strips = value == "true";
                    break;
                case "strip-prefix":
                    return $"strip-prefix: '{value}' is neither true nor false";
                default:
                    return $"'{member.Name}' is not a key of a route; these are: path, upstream, strip-prefix, backend-protocol";
            }
        }

        return path is null || upstream is null
            ? "a route needs 'path' and 'upstream'"
            : Make(path, upstream, strips, protocol, out route);
    }

    private static string? Make(string path, string upstream, bool strips, string? protocolText, out ServiceRoute? route)
    {
        route = null;
        if (MistakeOfPath(path) is { } mistake)
        {
            return $"the path '{path}' {mistake}";
        }

        if (BackendTarget.TryParse(upstream, out var target) is { } wrong)
        {
            return $"{path}: {wrong}";
        }

        BackendProtocol? protocol = protocolText?.ToLowerInvariant() switch
        {
            null => null,
            "auto" => BackendProtocol.Auto,
            "h1" => BackendProtocol.Http1,
            "h2" => BackendProtocol.Http2,
            _ => (BackendProtocol)(-1),
        };
        if (protocol is { } known && !Enum.IsDefined(known))
        {
            return $"{path}: backend-protocol: '{protocolText}' is not auto, h1 or h2";
        }

        if (protocol == BackendProtocol.Http1 && target!.IsHttp2)
        {
            return $"{path}: h1 contradicts the scheme h2c://";
        }

        var whole = path.Length > 1 && path.EndsWith('/') ? path[..^1] : path;
        if (whole == "/" && strips)
        {
            return "/: there is no prefix to take off";
        }

        route = new ServiceRoute(whole, target!) { StripsPrefix = strips, Protocol = protocol };
        return null;
    }

    private static string? MistakeOfPath(string path)
    {
        if (!path.StartsWith('/'))
        {
            return "does not begin with a slash";
        }

        if (Encoding.UTF8.GetByteCount(path) > LongestPath)
        {
            return FormattableString.Invariant($"is longer than {LongestPath} bytes");
        }

        if (path.Any(static c => c is <= ' ' or > '~' or '?' or '#' or '%' or '\\' or ';' or '*'))
        {
            return "has a character that a route cannot have: letters, digits and -._~!$&'()+,=:@ between slashes are usual";
        }

        var whole = path.Length > 1 && path.EndsWith('/') ? path[..^1] : path;
        return whole.Length > 1 && whole[1..].Split('/').Any(static segment => segment is "" || segment.EndsWith('.'))
            ? "has an empty segment, or one that ends in a dot"
            : null;
    }
}
