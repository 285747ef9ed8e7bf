using System.Net;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.Primitives;
using Tunnel2.Embed.Connections;
using Tunnel2.Transport.Sockets;

namespace Tunnel2.Embed;

/// <summary>
/// Lets the app see who the visitor is and what was called: address, scheme and <see cref="ITunnel2Feature"/>. The server writes the fields
/// that say so and passes none of the visitor's own; requests on other ports are not touched.
/// </summary>
/// <param name="urls">The tunnel's URLs.</param>
internal sealed class VisitorFilter(Tunnel2Urls urls) : IStartupFilter
{
    /// <summary>How many trusted proxies are in front of the server.</summary>
    public int Proxies { get; set; }

    /// <inheritdoc/>
    public Action<IApplicationBuilder> Configure(Action<IApplicationBuilder> next) => app =>
    {
        app.Use(following => context =>
        {
            if (context.Features.Get<ITunnelConnectionFeature>() is not null)
            {
                Introduce(context);
            }

            return following(context);
        });
        next(app);
    };

    /// <summary>The visitor's address; null where it is not known.</summary>
    /// <param name="field"><c>X-Forwarded-For</c>: what trusted proxies wrote, then the address of the server's own peer.</param>
    /// <param name="proxies">How many trusted proxies there are.</param>
    internal static IPAddress? AddressIn(StringValues field, int proxies)
    {
        ReadOnlySpan<char> list = field.Count switch
        {
            0 => "",
            1 => field[0],
            _ => string.Join(',', field.ToArray()),
        };
        for (int comma; proxies > 0 && (comma = list.LastIndexOf(',')) >= 0; proxies--)
        {
            list = list[..comma];
        }

        return AddressText.ReadForwarded(list[(list.LastIndexOf(',') + 1)..].Trim());
    }

    /// <summary>The scheme that the visitor used; null where it is not known.</summary>
    /// <param name="field"><c>X-Forwarded-Proto</c>, of which the first one is the visitor's.</param>
    internal static string? SchemeIn(StringValues field)
    {
        ReadOnlySpan<char> list = field.Count == 0 ? "" : field[0];
        int comma = list.IndexOf(',');
        var first = (comma < 0 ? list : list[..comma]).Trim();
        return first.Equals(Uri.UriSchemeHttps, StringComparison.OrdinalIgnoreCase) ? Uri.UriSchemeHttps
            : first.Equals(Uri.UriSchemeHttp, StringComparison.OrdinalIgnoreCase) ? Uri.UriSchemeHttp
            : null;
    }

    private void Introduce(HttpContext context)
    {
        var fields = context.Request.Headers;
        var address = AddressIn(fields["X-Forwarded-For"], Proxies);
        context.Connection.RemoteIpAddress = address;
        if ((SchemeIn(fields["X-Forwarded-Proto"]) ?? urls.PublicUrl?.Scheme) is { } scheme)
        {
            context.Request.Scheme = scheme;
        }

        context.Features.Set<ITunnel2Feature>(new Feature(urls.Name, urls.PublicUrl, address));
    }

    private sealed record Feature(string Name, Uri? PublicUrl, IPAddress? VisitorAddress) : ITunnel2Feature;
}
