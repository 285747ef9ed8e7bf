using System.Text;

namespace Tunnel2.TestBackend.Endpoints;

/// <summary><c>/status/CODE</c>: any final status.</summary>
internal static class StatusEndpoint
{
    public static Task HandleAsync(HttpContext context, int status)
    {
        var body = context.Request.Query["body"].ToString();
        context.Response.StatusCode = status;
        if (status is StatusCodes.Status204NoContent or StatusCodes.Status205ResetContent or StatusCodes.Status304NotModified)
        {
            return Task.CompletedTask;
        }

        return BackendHandler.AnswerAsync(context, status, "text/plain; charset=utf-8", Encoding.UTF8.GetBytes(body));
    }
}
