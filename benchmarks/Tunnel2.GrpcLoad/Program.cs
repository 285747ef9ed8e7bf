using System.Globalization;
using System.Net;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.Extensions.DependencyInjection;
using Tunnel2.GrpcLoad;

const string Usage =
    """
    tunnel2-grpcload serve PORT
    tunnel2-grpcload unary | both | down PORT AUTHORITY CALLS SECONDS     prints: messages/s, p50 and p99 in ms, messages

      unary  CALLS calls at once, each after the other's end
      both   CALLS streams at once; each sends a message when the last one has come back
      down   CALLS streams at once on which the service sends as fast as it can; no latencies

    """;

if (args is ["serve", var port])
{
    var builder = WebApplication.CreateEmptyBuilder(new WebApplicationOptions());
    builder.WebHost.UseKestrelCore().ConfigureKestrel(kestrel =>
    {
        kestrel.Listen(IPAddress.Loopback, ParseNumber(port), static listen => listen.Protocols = HttpProtocols.Http2);
        kestrel.Limits.MinRequestBodyDataRate = null;
        kestrel.Limits.MinResponseDataRate = null;
    });
    builder.Services.AddRoutingCore();
    builder.Services.AddGrpc();
    await using var service = builder.Build();
    service.UseRouting();
    service.MapGrpcService<LoadService>();
    await service.RunAsync();
    return 0;
}

if (args is ["unary" or "both" or "down", var target, var authority, var calls, var seconds])
{
    using var load = new CallLoad(ParseNumber(target), authority, ParseNumber(calls), TimeSpan.FromSeconds(ParseNumber(seconds)));
    Console.WriteLine(await load.RunAsync(args[0]));
    return 0;
}

Console.Error.Write(Usage);
return 2;

static int ParseNumber(string text) => int.Parse(text, NumberStyles.None, CultureInfo.InvariantCulture);
