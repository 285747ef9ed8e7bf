using System.Collections.Concurrent;
using System.Net;
using System.Text;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Hosting.Server;
using Microsoft.AspNetCore.Hosting.Server.Features;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.DependencyInjection;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Observability;

/// <summary>A collector that takes batches of OTLP over HTTP, and keeps their bytes.</summary>
internal sealed class OtlpSink : IAsyncDisposable
{
    private readonly WebApplication _application;
    private readonly ConcurrentQueue<(string Path, byte[] Body)> _batches = new();

    private OtlpSink(WebApplication application) => _application = application;

    /// <summary>Its address.</summary>
    public string Address => _application.Services.GetRequiredService<IServer>().Features.Get<IServerAddressesFeature>()!.Addresses.First();

    /// <summary>Batches that came, of both kinds.</summary>
    public AsyncCounter Count { get; } = new("batches");

    public static async Task<OtlpSink> StartAsync()
    {
        var builder = WebApplication.CreateEmptyBuilder(new WebApplicationOptions());
        builder.WebHost.UseKestrelCore().ConfigureKestrel(static kestrel => kestrel.Listen(IPAddress.Loopback, 0));
        var sink = new OtlpSink(builder.Build());
        sink._application.Run(sink.TakeAsync);
        await sink._application.StartAsync();
        return sink;
    }

    /// <summary>Whether a batch of a kind has these bytes in it.</summary>
    public bool Has(string path, ReadOnlySpan<byte> bytes)
    {
        foreach (var batch in _batches)
        {
            if (batch.Path == path && batch.Body.AsSpan().IndexOf(bytes) >= 0)
            {
                return true;
            }
        }

        return false;
    }

    /// <summary>Whether a batch of a kind has this text in it.</summary>
    public bool Has(string path, string text) => Has(path, Encoding.UTF8.GetBytes(text));

    public ValueTask DisposeAsync() => _application.DisposeAsync();

    private async Task TakeAsync(HttpContext context)
    {
        using var body = new MemoryStream();
        await context.Request.Body.CopyToAsync(body);
        Assert.Equal("application/x-protobuf", context.Request.ContentType);
        _batches.Enqueue((context.Request.Path.Value!, body.ToArray()));
        Count.Increment();
    }
}
