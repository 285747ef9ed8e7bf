using System.Net;
using System.Net.Sockets;
using Grpc.Net.Client;
using Grpc.Net.Client.Web;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.Extensions.DependencyInjection;
using Tunnel2.FunctionalTests.Harness;

namespace Tunnel2.FunctionalTests.Grpc;

/// <summary>A gRPC service of ASP.NET Core, a whole tunnel to it, and .NET's gRPC client as the visitor.</summary>
internal static class GrpcTunnel
{
    private const int LargestMessage = 32 * 1024 * 1024;

    /// <summary>Runs a test. The service speaks HTTP/2 without TLS, and the agent has no setting that says so.</summary>
    public static async Task RunAsync(Func<GrpcChannel, TunnelFixture, Task> test, TunnelSetup? setup = null, bool isWeb = false)
    {
        var builder = WebApplication.CreateEmptyBuilder(new WebApplicationOptions());
        builder.WebHost.UseKestrelCore().ConfigureKestrel(kestrel =>
        {
            kestrel.Listen(IPAddress.Loopback, 0, listen => listen.Protocols = isWeb ? HttpProtocols.Http1 : HttpProtocols.Http2);
            kestrel.Limits.MinRequestBodyDataRate = null;
            kestrel.Limits.MinResponseDataRate = null;
            kestrel.Limits.Http2.KeepAlivePingDelay = TimeSpan.FromSeconds(1);
        });
        builder.Services.AddRoutingCore();
        builder.Services.AddGrpc(grpc =>
        {
            grpc.MaxReceiveMessageSize = LargestMessage;
            grpc.MaxSendMessageSize = LargestMessage;
        });
        await using var service = builder.Build();
        service.UseRouting();
        service.UseGrpcWeb(new GrpcWebOptions { DefaultEnabled = true });
        service.MapGrpcService<GrpcEcho>();
        await service.StartAsync();
        await TunnelFixture.RunAsync(
            new Uri(service.Urls.Single()).Port,
            async tunnel =>
            {
                using var channel = Connect(tunnel, isWeb);
                await test(channel, tunnel);
            },
            setup);
        await service.StopAsync(CancellationToken.None);
    }

    /// <summary>A visitor's channel through the tunnel.</summary>
    public static GrpcChannel Connect(TunnelFixture tunnel, bool isWeb = false, string host = TunnelFixture.Host)
    {
        HttpMessageHandler handler = new SocketsHttpHandler
        {
            UseProxy = false,
            KeepAlivePingDelay = TimeSpan.FromSeconds(1),
            KeepAlivePingPolicy = HttpKeepAlivePingPolicy.Always,
            MaxResponseHeadersLength = 128,
            ConnectCallback = async (_, cancellationToken) =>
            {
                var socket = new Socket(SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
                await socket.ConnectAsync(tunnel.Entry.Http, cancellationToken);
                return new NetworkStream(socket, ownsSocket: true);
            },
        };
        if (isWeb)
        {
            handler = new GrpcWebHandler(GrpcWebMode.GrpcWeb, handler);
        }

        return GrpcChannel.ForAddress(
            $"http://{host}:{tunnel.Entry.Http.Port}",
            new GrpcChannelOptions
            {
                HttpHandler = handler,
                DisposeHttpClient = true,
                MaxReceiveMessageSize = LargestMessage,
                MaxSendMessageSize = LargestMessage,
                HttpVersion = isWeb ? HttpVersion.Version11 : HttpVersion.Version20,
            });
    }
}
