using System.Buffers;
using System.IO.Pipelines;
using Microsoft.AspNetCore.Http.Features;

namespace Tunnel2.TestBackend.Endpoints;

/// <summary><c>/echo</c>: the request body, sent back piece by piece as it comes.</summary>
internal static class EchoEndpoint
{
    public static async Task HandleAsync(HttpContext context)
    {
        var request = context.Request;
        var response = context.Response;
        response.Headers.ContentType = request.Headers.ContentType;
        response.ContentLength = request.ContentLength;
        var hasBody = context.Features.Get<IHttpRequestBodyDetectionFeature>()?.CanHaveBody ?? true;
        if (!hasBody)
        {
            response.ContentLength = 0;
            return;
        }

        var reader = request.BodyReader;
        var writer = response.BodyWriter;
        if (request.Headers.Expect.Count == 0)
        {
            // A caller that waits for the head before it sends its body gets it; with Expect, the 100 must come first.
            await response.StartAsync(context.RequestAborted);
            await writer.FlushAsync(context.RequestAborted);
        }

        await CopyAsync(reader, writer);
    }

    /// <summary>Copies until the end of <paramref name="reader"/>, flushing after each piece that was read.</summary>
    public static async Task CopyAsync(PipeReader reader, PipeWriter writer)
    {
        while (true)
        {
            var read = await reader.ReadAsync();
            var buffer = read.Buffer;
            foreach (var segment in buffer)
            {
                writer.Write(segment.Span);
            }

            reader.AdvanceTo(buffer.End);
            var flush = await writer.FlushAsync();
            if (read.IsCompleted || read.IsCanceled || flush.IsCompleted || flush.IsCanceled)
            {
                return;
            }
        }
    }
}
