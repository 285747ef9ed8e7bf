using System.Globalization;
using System.Text;
using Microsoft.AspNetCore.Http.Features;

namespace Tunnel2.Quickstart.Sample;

/// <summary>
/// The sample service of the quick start, on Kestrel and a port that the system chooses at 127.0.0.1: <c>/</c> shows the request that
/// arrived, <c>/events</c> is a clock (server-sent events), <c>/echo</c> returns the request's body. Thread-safe.
/// </summary>
internal sealed class SampleBackend : IAsyncDisposable
{
    private static readonly TimeSpan _tick = TimeSpan.FromSeconds(1);

    private readonly WebApplication _application;
    private readonly CancellationTokenSource _ending;

    private SampleBackend(WebApplication application, CancellationTokenSource ending)
    {
        _application = application;
        _ending = ending;
        Port = new Uri(application.Urls.First()).Port;
    }

    public int Port { get; }

    public static async Task<SampleBackend> StartAsync()
    {
        var ending = new CancellationTokenSource();
        var builder = WebApplication.CreateEmptyBuilder(new WebApplicationOptions());
        builder.WebHost.UseKestrelCore().UseUrls("http://127.0.0.1:0");
        var application = builder.Build();
        application.Run(context => HandleAsync(context, ending.Token));
        await application.StartAsync().ConfigureAwait(false);
        return new SampleBackend(application, ending);
    }

    /// <summary>Ends the running clocks.</summary>
    public void EndEvents() => _ = _ending.CancelAsync();

    /// <inheritdoc/>
    public async ValueTask DisposeAsync()
    {
        await _ending.CancelAsync().ConfigureAwait(false);
        await _application.DisposeAsync().ConfigureAwait(false);
        _ending.Dispose();
    }

    private static Task HandleAsync(HttpContext context, CancellationToken ending) => context.Request.Path.Value switch
    {
        "/" => ShowAsync(context),
        "/events" => SendTimesAsync(context, ending),
        "/echo" => EchoAsync(context),
        _ =>
            WriteAsync(
                context, StatusCodes.Status404NotFound, "text/plain; charset=utf-8", "Not found. There are / and /events and /echo.\n"),
    };

    private static Task ShowAsync(HttpContext context)
    {
        if (!context.Request.Headers.Accept.ToString().Contains("text/html", StringComparison.OrdinalIgnoreCase))
        {
            return WriteAsync(context, StatusCodes.Status200OK, "text/plain; charset=utf-8", SamplePage.AsText(context.Request));
        }

        context.Response.Headers.ContentSecurityPolicy = SamplePage.ContentSecurityPolicy;
        return WriteAsync(context, StatusCodes.Status200OK, "text/html; charset=utf-8", SamplePage.AsHtml(context.Request));
    }

    private static async Task SendTimesAsync(HttpContext context, CancellationToken ending)
    {
        using var end = CancellationTokenSource.CreateLinkedTokenSource(context.RequestAborted, ending);
        context.Response.ContentType = "text/event-stream";
        context.Response.Headers.CacheControl = "no-store";
        using var timer = new PeriodicTimer(_tick);
        try
        {
            do
            {
                var time = DateTime.Now.ToString("HH:mm:ss", CultureInfo.InvariantCulture);
                await context.Response.WriteAsync($"data: {time}\n\n", end.Token).ConfigureAwait(false);
            }
            while (await timer.WaitForNextTickAsync(end.Token).ConfigureAwait(false));
        }
        catch (OperationCanceledException)
        {
            // The visitor left, or the quick start is stopping.
        }
    }

    /// <summary>Returns every body as text, because a page of others must not run under this origin.</summary>
    private static async Task EchoAsync(HttpContext context)
    {
        if (context.Features.Get<IHttpMaxRequestBodySizeFeature>() is { IsReadOnly: false } size)
        {
            size.MaxRequestBodySize = null;
        }

        context.Response.ContentType = "text/plain; charset=utf-8";
        context.Response.Headers.XContentTypeOptions = "nosniff";
        await context.Request.Body.CopyToAsync(context.Response.Body, context.RequestAborted).ConfigureAwait(false);
    }

    private static Task WriteAsync(HttpContext context, int status, string type, string text)
    {
        var body = Encoding.UTF8.GetBytes(text);
        context.Response.StatusCode = status;
        context.Response.ContentType = type;
        context.Response.ContentLength = body.Length;
        return HttpMethods.IsHead(context.Request.Method)
            ? Task.CompletedTask
            : context.Response.Body.WriteAsync(body, context.RequestAborted).AsTask();
    }
}
