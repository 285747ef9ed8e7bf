using System.Globalization;
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

        return context.WriteAnswerAsync(ErrorResponses.Get(error, context.Request.ErrorFormat(), details), extras);
    }

    /// <summary>Gives an answer; without a body for HEAD. Earlier settings of the response, which has not begun, are cleared.</summary>
    public static Task WriteAnswerAsync(this HttpContext context, ErrorResponse rendered, ExchangeExtras? extras = null)
    {
        var response = context.Response;
        response.Clear();
        response.StatusCode = rendered.Status;
        foreach (var (name, value) in rendered.Headers)
        {
            response.Headers.Append(name, value);
        }

        extras?.CopyTo(response.Headers);
        response.ContentLength = rendered.Status == StatusCodes.Status204NoContent ? null : rendered.Body.Length;
        return HttpMethods.IsHead(context.Request.Method) || rendered.Body.IsEmpty
            ? Task.CompletedTask
            : response.Body.WriteAsync(rendered.Body, context.RequestAborted).AsTask();
    }

    /// <summary>
    /// Ends a response of gRPC that was cut: the status in its trailers says that it is none, and why. A reset would say neither.
    /// </summary>
    /// <returns>False when it is another response.</returns>
    public static bool TryEndGrpc(this HttpContext context, ProxyError error)
    {
        var response = context.Response;
        if (context.Request.ErrorFormat() != ErrorBodyFormat.Grpc
            || response.ContentLength is not null
            || !response.SupportsTrailers()
            || ErrorBodyNegotiation.Choose(response.ContentType, default(ReadOnlySpan<char>)) != ErrorBodyFormat.Grpc)
        {
            return false;
        }

        var info = ProxyErrorCatalog.Get(error);
        response.AppendTrailer("grpc-status", GrpcStatus.Of(info).ToString(CultureInfo.InvariantCulture));
        response.AppendTrailer("grpc-message", GrpcStatus.MessageOf(info));
        return true;
    }

    /// <summary>The form that a request asks for.</summary>
    public static ErrorBodyFormat ErrorFormat(this HttpRequest request) => ErrorBodyNegotiation.Choose(
        request.Headers.ContentType.ToString().AsSpan(), request.Headers.Accept.ToString().AsSpan());
}
