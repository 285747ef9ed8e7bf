using System.Collections.Frozen;
using Tunnel2.Http1;
using Tunnel2.Protocol.Headers;
using Tunnel2.ProxyEntry.Forwarding;

namespace Tunnel2.ProxyEntry.Fronts.HttpContexts;

/// <summary>Writes a request's fields into its block: without what is hop-by-hop, with who forwarded what.</summary>
internal static class RequestFields
{
    /// <summary>Fields that are not simply passed on, by name.</summary>
    private static readonly FrozenDictionary<string, FieldRole> _roles = new Dictionary<string, FieldRole>(StringComparer.OrdinalIgnoreCase)
    {
        ["Connection"] = FieldRole.HopByHop,
        ["Keep-Alive"] = FieldRole.HopByHop,
        ["Proxy-Connection"] = FieldRole.HopByHop,
        ["Proxy-Authenticate"] = FieldRole.HopByHop,
        ["Proxy-Authorization"] = FieldRole.HopByHop,
        ["Transfer-Encoding"] = FieldRole.HopByHop,
        ["HTTP2-Settings"] = FieldRole.HopByHop,
        ["Upgrade"] = FieldRole.Upgrade,
        ["TE"] = FieldRole.Te,
        ["Forwarded"] = FieldRole.Forwarding,
        ["X-Forwarded-For"] = FieldRole.Forwarding,
        ["X-Forwarded-Host"] = FieldRole.Forwarding,
        ["X-Forwarded-Proto"] = FieldRole.Forwarding,
        ["X-Forwarded-Port"] = FieldRole.Forwarding,
        ["X-Real-IP"] = FieldRole.Forwarding,
    }.ToFrozenDictionary(StringComparer.OrdinalIgnoreCase);

    private enum FieldRole
    {
        HopByHop = 1,
        Upgrade,
        Te,
        Forwarding,
    }

    /// <summary>Writes all fields that the visitor sent and that go on.</summary>
    /// <param name="writer">Where to.</param>
    /// <param name="headers">The visitor's fields.</param>
    /// <param name="isUpgrade">Whether the visitor asks to switch protocols.</param>
    /// <param name="isTrusted">Whether the peer's forwarding fields are believed, and so kept.</param>
    /// <param name="extras">What ProxyEntry adds, or null.</param>
    public static void Write(ref HeaderBlockWriter writer, IHeaderDictionary headers, bool isUpgrade, bool isTrusted, ExchangeExtras? extras = null)
    {
        var listed = ListedInConnection(headers);
        foreach (var (name, values) in headers)
        {
            if (_roles.TryGetValue(name, out var role))
            {
                var keep = role switch
                {
                    FieldRole.Upgrade => isUpgrade,
                    FieldRole.Te => string.Equals(values, "trailers", StringComparison.OrdinalIgnoreCase),
                    FieldRole.Forwarding => isTrusted && name.Equals("X-Real-IP", StringComparison.OrdinalIgnoreCase),
                    _ => false,
                };
                if (!keep)
                {
                    continue;
                }
            }
            else if (name.Contains('_') && _roles.TryGetValue(name.Replace('_', '-'), out role) && role == FieldRole.Forwarding)
            {
                // Backends that turn names into variables cannot tell X_Forwarded_For from the real one.
                continue;
            }
            else if (name[0] == ':' || (extras is not null && extras.Replaces(name)) || (listed is not null && listed.Contains(name)))
            {
                continue;
            }

            foreach (var value in values)
            {
                writer.AddField(name, value ?? "");
            }
        }
    }

    /// <summary>
    /// The names that Connection lists beyond its own words. A field that frames or routes the message stays whatever it says: whoever
    /// lists one wants it lost.
    /// </summary>
    private static HashSet<string>? ListedInConnection(IHeaderDictionary headers)
    {
        var connection = headers.Connection;
        if (connection.Count == 0)
        {
            return null;
        }

        if (connection.Count == 1 && connection[0] is "keep-alive" or "close" or "Upgrade" or "upgrade" or "Keep-Alive" or "Close")
        {
            return null;
        }

        HashSet<string>? listed = null;
        foreach (var value in connection)
        {
            foreach (var option in (value ?? "").Split(',', StringSplitOptions.TrimEntries | StringSplitOptions.RemoveEmptyEntries))
            {
                if (!IsFraming(option))
                {
                    (listed ??= new HashSet<string>(StringComparer.OrdinalIgnoreCase)).Add(option);
                }
            }
        }

        return listed;
    }

    private static bool IsFraming(string name) => KnownFields.Classify(System.Text.Encoding.Latin1.GetBytes(name))
        is KnownField.Host or KnownField.ContentLength or KnownField.Expect;
}
