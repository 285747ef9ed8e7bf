using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Tunnel2.Embed.Connections;

namespace Tunnel2.Embed;

/// <summary>Gives ASP.NET Core apps a public URL.</summary>
public static class Tunnel2WebHostBuilderExtensions
{
    /// <summary>
    /// Gives the app a public URL through a Tunnel2 server. The app opens connections to the server and listens at no port: requests of
    /// visitors come to Kestrel within the process. An app has one such tunnel.
    /// </summary>
    /// <remarks>
    /// <para>
    /// The app's server is Kestrel, which then uses no URL of <c>--urls</c>, <c>ASPNETCORE_URLS</c> or <c>app.Urls</c>. Endpoints of
    /// <c>ConfigureKestrel</c> and of the configuration's section <c>Kestrel</c> are opened beside the tunnel. Where a test replaces the
    /// server, there is no tunnel.
    /// </para>
    /// <para>
    /// A request through the tunnel has the visitor's address (<c>Connection.RemoteIpAddress</c>), the scheme and the Host of the public
    /// URL, and an <see cref="ITunnel2Feature"/>. The URL is logged, and it is in the service <see cref="Tunnel2Urls"/>.
    /// </para>
    /// <para>
    /// The tunnel opens after the host has started, and again after each interruption. When the host stops, it is drained before any
    /// service stops: requests under way get what <see cref="HostOptions.ShutdownTimeout"/> leaves.
    /// </para>
    /// </remarks>
    /// <param name="builder">The app's web host.</param>
    /// <param name="server">
    /// The server: its public URL (<c>https://tunnel.example.com</c>), whose host is called at port 12001, and over WebSocket at the URL's
    /// port where 12001 cannot be reached; or <c>host:port</c> of its uplink listener, with <c>tls://</c> or <c>tcp://</c> before it; or
    /// <c>wss://host</c> for WebSocket alone.
    /// </param>
    /// <param name="configure">Sets options. It is called when the host starts.</param>
    /// <returns>The same web host.</returns>
    /// <exception cref="InvalidOperationException">It was called before.</exception>
    public static IWebHostBuilder UseTunnel2(this IWebHostBuilder builder, string server, Action<Tunnel2EmbedOptions>? configure = null)
    {
        ArgumentNullException.ThrowIfNull(builder);
        ArgumentException.ThrowIfNullOrWhiteSpace(server);
        return builder.UseKestrelCore()
            .ConfigureServices(services => Add(services, server, configure))
            .ConfigureKestrel(static kestrel => kestrel.Listen(
                TunnelEndPoint.Instance, static listen => listen.Protocols = HttpProtocols.Http1));
    }

    private static void Add(IServiceCollection services, string server, Action<Tunnel2EmbedOptions>? configure)
    {
        if (services.Any(static service => service.ServiceType == typeof(EmbeddedApp)))
        {
            throw new InvalidOperationException("UseTunnel2 was called before: an app has one tunnel.");
        }

        var app = new EmbeddedApp();
        var urls = new Tunnel2Urls();
        var visitors = new VisitorFilter(urls);
        services.AddSingleton(app).AddSingleton<IConnectionListenerFactory>(app);

        // The first of all: what it says about the visitor counts for every other part of the app.
        services.Insert(0, ServiceDescriptor.Singleton<IStartupFilter>(visitors));
        services.AddTunnel(urls, new TunnelPlan(
            () =>
            {
                var options = new Tunnel2EmbedOptions();
                configure?.Invoke(options);
                visitors.Proxies = options.ProxiesBeforeServer;
                return OptionsReader.Read(options, server, app);
            },
            () => app.IsBound ? null : "the app's server is not Kestrel, so that no request could reach it"));
    }
}
