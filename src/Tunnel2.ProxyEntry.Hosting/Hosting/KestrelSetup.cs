using System.Net.Security;
using System.Text;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.Net.Http.Headers;
using Tunnel2.ProxyEntry.Acme;
using Tunnel2.ProxyEntry.Admin;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Connections;
using Tunnel2.ProxyEntry.Fronts.Http1;
using Tunnel2.ProxyEntry.Fronts.Http2;
using Tunnel2.ProxyEntry.Fronts.HttpContexts;
using Tunnel2.ProxyEntry.Fronts.Raw;
using Tunnel2.ProxyEntry.Fronts.Tls;

namespace Tunnel2.ProxyEntry.Hosting;

/// <summary>What Kestrel listens on, what it leaves to the fronts before it, and its limits.</summary>
internal static class KestrelSetup
{
    /// <summary>
    /// How many streams a visitor may have open on one HTTP/2 connection. A page's WebSockets hold one each while they live, and its
    /// requests must find room beside a thousand of them. The connection's window limits their unread bytes, for any number of streams.
    /// </summary>
    private const int MaxStreamsPerConnection = 1280;

    /// <summary>Bytes that a visitor may send on one HTTP/2 stream before they are read.</summary>
    private const int StreamWindow = 512 * 1024;

    /// <summary>
    /// Bytes that a visitor may send on all streams of a connection before they are read. Kestrel returns credit in portions of half of it.
    /// So other streams continue until unread streams hold half of it, which takes eight of them.
    /// </summary>
    private const int ConnectionWindow = 16 * StreamWindow;

    /// <summary>Sets Kestrel's limits and listeners.</summary>
    /// <param name="kestrel">Kestrel's options.</param>
    /// <param name="settings">The settings.</param>
    /// <param name="listeners">Gets the listeners, each with its kind.</param>
    /// <param name="connections">Counts their connections.</param>
    public static void Apply(
        KestrelServerOptions kestrel,
        ProxyEntrySettings settings,
        List<(string Kind, ListenOptions Options)> listeners,
        ListenerConnections connections)
    {
        kestrel.AddServerHeader = false;

        // A balancer that ends TLS passes on what its visitors sent; whether a connection is encrypted is known without that.
        kestrel.AllowAlternateSchemes = true;

        // The backend decides about sizes and rates, and the watchdog about stalled bodies.
        kestrel.Limits.MaxRequestBodySize = settings.MaxRequestBodyBytes;
        kestrel.Limits.MinRequestBodyDataRate = null;
        kestrel.Limits.MinResponseDataRate = null;

        // Bytes that each HTTP/2 stream may hold for a visitor that does not read, in addition to the piece that is being written.
        kestrel.Limits.MaxResponseBufferSize = 16 * 1024;
        KestrelHeadLimits.Apply(kestrel.Limits, settings);
        kestrel.Limits.RequestHeadersTimeout = settings.RequestHeadTimeout == Timeout.InfiniteTimeSpan
            ? TimeSpan.MaxValue
            : settings.RequestHeadTimeout;
        kestrel.Limits.KeepAliveTimeout = settings.KeepAliveTimeout == Timeout.InfiniteTimeSpan
            ? TimeSpan.MaxValue
            : settings.KeepAliveTimeout;
        kestrel.Limits.Http2.KeepAlivePingDelay = TimeSpan.FromSeconds(30);
        kestrel.Limits.Http2.MaxStreamsPerConnection = MaxStreamsPerConnection;
        kestrel.Limits.Http2.InitialStreamWindowSize = StreamWindow;
        kestrel.Limits.Http2.InitialConnectionWindowSize = ConnectionWindow;

        // Characters are bytes: bytes of a visitor or backend beyond ASCII pass unchanged.
        kestrel.RequestHeaderEncodingSelector = static name =>
            name == HeaderNames.ContentLength ? ContentLengthText.Instance : Encoding.Latin1;
        kestrel.ResponseHeaderEncodingSelector = static _ => Encoding.Latin1;
        if (settings.HttpListen is { } http)
        {
            kestrel.Listen(http, listen =>
            {
                // Without TLS Kestrel serves one version only. Our front has already served HTTP/1, so only HTTP/2 is left.
                listen.Protocols = HttpProtocols.Http2;
                listen.Use(connections.Visitors.Track);
                listen.Use(listen.ApplicationServices.GetRequiredService<BalancerHeaders>().Use);
                listen.TakeTurns();
                UseHttp1Front(listen);
                UseHttp2Link(listen, settings);
                listeners.Add(("http", listen));
            });
        }

        if (settings.HttpsListen is { } https)
        {
            kestrel.Listen(https, listen =>
            {
                listen.Protocols = HttpProtocols.Http1AndHttp2;
                listen.Use(connections.Visitors.Track);
                listen.Use(listen.ApplicationServices.GetRequiredService<BalancerHeaders>().Use);
                UseAcmeTlsFront(listen);
                UseSniFront(listen);
                listen.WatchForLoss();
                listen.LeaveLoop();
                listen.Use(static next => connection => ShakeHandsAsync(connection, next));
                listen.UseHttps(listen.ApplicationServices.GetRequiredService<VisitorTls>().CreateOptions());
                listen.Use(static next => connection => AcmeTlsFront.EndAsync(connection, next));
                listen.ReturnToLoop();
                listen.TakeTurns();
                UseHttp1Front(listen);
                UseHttp2Link(listen, settings);
                listeners.Add(("https", listen));
            });
        }

        kestrel.Listen(settings.AdminListen, listen =>
        {
            listen.Protocols = HttpProtocols.Http1;
            listen.Use(connections.Admin.Track);
            listen.Use(static (ConnectionDelegate next) => connection =>
            {
                var refusals = new AdminRefusals(connection.Transport);
                connection.Features.Set(refusals);
                connection.Transport = refusals;
                return next(connection);
            });
            listeners.Add(("admin", listen));
        });
    }

    /// <summary>
    /// A first record that begins no handshake, such as an alert, never comes to the choice of a certificate. .NET then says that the
    /// server has none, as if that were a fault, and not that its visitor does not speak TLS.
    /// </summary>
    private static async Task ShakeHandsAsync(ConnectionContext connection, ConnectionDelegate next)
    {
        try
        {
            await next(connection).ConfigureAwait(false);
        }
        catch (NotSupportedException exception) when (exception.Source == typeof(SslStream).Assembly.GetName().Name)
        {
            // The connection ends, as after any handshake that fails.
        }
    }

    /// <summary>Before TLS: handshakes of an authority that checks a name.</summary>
    private static void UseAcmeTlsFront(ListenOptions listen)
    {
        var front = listen.ApplicationServices.GetRequiredService<AcmeTlsFront>();
        listen.Use(next => connection => front.ServeAsync(connection, next));
    }

    /// <summary>Before TLS: tunnels of TLS get their connections unopened.</summary>
    private static void UseSniFront(ListenOptions listen)
    {
        var front = listen.ApplicationServices.GetRequiredService<SniFront>();
        listen.Use(next => connection => front.ServeAsync(connection, next));
    }

    /// <summary>What the front before it did not serve is HTTP/2: the link sees its frames on their way to Kestrel and back.</summary>
    private static void UseHttp2Link(ListenOptions listen, ProxyEntrySettings settings)
    {
        var time = listen.ApplicationServices.GetRequiredService<TimeProvider>();
        var floods = listen.ApplicationServices.GetRequiredService<Http2Floods>();
        var heads = KestrelHeadLimits.Shortened(settings);
        listen.Use((ConnectionDelegate next) => connection =>
        {
            var visitor = connection.RemoteEndPoint;
            var link = new Http2Link(connection.Transport, time, heads, flood => floods.Report(flood, visitor));
            connection.Features.Set(link);
            connection.Transport = link;
            return next(connection);
        });
    }

    /// <summary>After TLS, if there is any: our front serves HTTP/1, and the rest goes to Kestrel.</summary>
    private static void UseHttp1Front(ListenOptions listen)
    {
        var front = listen.ApplicationServices.GetRequiredService<Http1Front>();
        listen.Use(next => connection => front.ServeAsync(connection, next));
    }
}
