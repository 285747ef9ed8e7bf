using Tunnel2.ProxyEntry.Errors;
using Tunnel2.ProxyEntry.Requests;

namespace Tunnel2.ProxyEntry.Fronts.HttpContexts;

/// <summary>Sends errors through ASP.NET Core.</summary>
internal static class ErrorResponseExtensions
{
    /// <summary>
    /// Answers with an error in the form that the visitor asks for; without a body for HEAD. Earlier settings of the response are cleared.
    /// If the response's head was already sent, the exchange is aborted, because an orderly end would make the partial answer look
    /// complete.
    /// </summary>
    public static Task WriteProxyErrorAsync(
        this HttpContext context, ProxyError error, ErrorDetails details = default, ExchangeExtras? extras = null)
    {
        var response = context.Response;
        if (response.HasStarted)
        {
            context.Abort();
            return Task.CompletedTask;
        }

        var rendered = ErrorResponses.Get(error, ErrorBodyNegotiation.Choose(context.Request.Headers.Accept.ToString()), details);
        response.Clear();
        response.StatusCode = rendered.Status;
        foreach (var (name, value) in rendered.Headers)
        {
            response.Headers[name] = value;
        }

        extras?.CopyTo(response.Headers);
        response.ContentLength = rendered.Body.Length;
        return HttpMethods.IsHead(context.Request.Method)
            ? Task.CompletedTask
            : response.Body.WriteAsync(rendered.Body, context.RequestAborted).AsTask();
    }
}
