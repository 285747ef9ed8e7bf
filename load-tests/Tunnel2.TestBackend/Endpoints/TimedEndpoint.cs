using System.Globalization;
using System.Text;
using Microsoft.AspNetCore.Http.Features;

namespace Tunnel2.TestBackend.Endpoints;

/// <summary><c>/delay</c>, <c>/stream</c> and <c>/sse</c>: answers in which time matters.</summary>
internal static class TimedEndpoint
{
    public static async Task DelayAsync(HttpContext context, long milliseconds)
    {
        await new Schedule().WaitUntilAsync(TimeSpan.FromMilliseconds(milliseconds), context.RequestAborted);
        await BackendHandler.AnswerTextAsync(
            context, StatusCodes.Status200OK, string.Create(CultureInfo.InvariantCulture, $"waited {milliseconds} ms\n"));
    }

    public static async Task StreamAsync(HttpContext context, long count, int size, long milliseconds)
    {
        var aborted = context.RequestAborted;
        var writer = context.Response.BodyWriter;
        context.Response.ContentType = "application/octet-stream";
        context.Features.Get<IHttpResponseBodyFeature>()?.DisableBuffering();
        await context.Response.StartAsync(aborted);
        await writer.FlushAsync(aborted);
        var schedule = new Schedule();
        for (long i = 0; i < count; i++)
        {
            await schedule.WaitUntilAsync(TimeSpan.FromMilliseconds(i * milliseconds), aborted);
            var flush = await writer.WriteAsync(PatternBytes.Window(i * size, size), aborted);
            if (flush.IsCompleted || flush.IsCanceled)
            {
                return;
            }
        }
    }

    public static async Task SendEventsAsync(HttpContext context)
    {
        var request = context.Request;
        var aborted = context.RequestAborted;
        var count = request.GetNumber("count", 10);
        var interval = request.GetNumber("interval", 1000);
        var writer = context.Response.BodyWriter;
        context.Response.ContentType = "text/event-stream";
        context.Response.Headers.CacheControl = "no-cache";
        await context.Response.StartAsync(aborted);
        await writer.FlushAsync(aborted);
        var schedule = new Schedule();
        for (long i = 0; count == 0 || i < count; i++)
        {
            await schedule.WaitUntilAsync(TimeSpan.FromMilliseconds(i * interval), aborted);
            var now = TimeProvider.System.GetUtcNow().ToUnixTimeMilliseconds();
            var text = string.Create(CultureInfo.InvariantCulture, $"id: {i}\ndata: {now}\n\n");
            var flush = await writer.WriteAsync(Encoding.ASCII.GetBytes(text), aborted);
            if (flush.IsCompleted || flush.IsCanceled)
            {
                return;
            }
        }
    }
}
