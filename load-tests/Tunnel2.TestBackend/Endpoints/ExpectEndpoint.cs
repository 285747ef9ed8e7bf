namespace Tunnel2.TestBackend.Endpoints;

/// <summary>
/// <c>/expect</c>: with <c>reject=1</c> answers 413, with <c>reject=417</c> 417, both before a byte of the body is read and without
/// 100 Continue; otherwise reads the body (Kestrel sends the 100 then) and answers as <c>/sink</c>.
/// </summary>
internal static class ExpectEndpoint
{
    public static Task HandleAsync(HttpContext context)
    {
        var status = context.Request.Query["reject"].ToString() switch
        {
            "" or "0" => 0,
            "417" => StatusCodes.Status417ExpectationFailed,
            _ => StatusCodes.Status413PayloadTooLarge,
        };
        if (status == 0)
        {
            return SinkEndpoint.ReadAndAnswerAsync(context, bytesPerSecond: null);
        }

        if (HttpProtocol.IsHttp11(context.Request.Protocol))
        {
            context.Response.Headers.Connection = "close";
        }

        return BackendHandler.AnswerTextAsync(context, status, "rejected before the body was read\n");
    }
}
