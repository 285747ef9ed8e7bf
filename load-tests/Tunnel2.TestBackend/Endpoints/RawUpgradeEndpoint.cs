using System.IO.Pipelines;
using Microsoft.AspNetCore.Http.Features;
using Tunnel2.TestBackend.Hosting;

namespace Tunnel2.TestBackend.Endpoints;

/// <summary>
/// <c>/upgrade/raw</c>: 101 to the protocol <c>echo-raw</c>, then the bytes both ways. When the caller ends its direction, what is still
/// under way is sent back before the connection is closed.
/// </summary>
internal static class RawUpgradeEndpoint
{
    private const string Protocol = "echo-raw";

    public static async Task HandleAsync(HttpContext context)
    {
        if (context.Features.Get<IHttpUpgradeFeature>() is not { IsUpgradableRequest: true } upgrade
            || !string.Equals(context.Request.Headers.Upgrade.ToString(), Protocol, StringComparison.OrdinalIgnoreCase))
        {
            context.Response.Headers.Upgrade = Protocol;
            await BackendHandler.AnswerTextAsync(
                context, StatusCodes.Status426UpgradeRequired, $"Ask for an upgrade to {Protocol}.\n");
            return;
        }

        context.Features.Get<RawConnectionTap>()?.AllowHalfClose();
        context.Response.Headers.Upgrade = Protocol;
        var stream = await upgrade.UpgradeAsync();
        var reader = PipeReader.Create(stream, new StreamPipeReaderOptions(bufferSize: 64 * 1024, useZeroByteReads: true, leaveOpen: true));
        var writer = PipeWriter.Create(stream, new StreamPipeWriterOptions(leaveOpen: true));
        try
        {
            await EchoEndpoint.CopyAsync(reader, writer);
        }
        catch (IOException)
        {
            // The caller reset the connection; nothing is left to send.
        }

        await reader.CompleteAsync();
        await writer.CompleteAsync();
    }
}
