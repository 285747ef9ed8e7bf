using System.Buffers;
using Microsoft.AspNetCore.Http.Features;
using Tunnel2.ProxyEntry.Connections;

namespace Tunnel2.ProxyEntry.Admin;

/// <summary>Reads bodies of calls, within a limit of bytes and one of time. Stateless.</summary>
internal static class AdminBody
{
    /// <summary>How long a body may take.</summary>
    public static readonly TimeSpan Limit = TimeSpan.FromSeconds(10);

    private const int Piece = 16 * 1024;

    /// <summary>Whether a request has one.</summary>
    public static bool IsThere(HttpRequest request) => request.ContentLength > 0 || request.Headers.TransferEncoding.Count > 0;

    /// <summary>Reads it. What is held grows with what has come, for any length that was said.</summary>
    /// <param name="http">The request.</param>
    /// <param name="most">How many bytes it may have.</param>
    /// <param name="time">The clock.</param>
    /// <exception cref="OperationCanceledException">The caller has left.</exception>
    public static async ValueTask<(ReadOnlyMemory<byte> Body, AdminBodyProblem? Problem)> ReadAsync(
        HttpContext http, int most, TimeProvider time)
    {
        if (http.Features.Get<IHttpMaxRequestBodySizeFeature>() is { IsReadOnly: false } limited)
        {
            // Kestrel ends the reading there; the one more shows that it is no body of just this length.
            limited.MaxRequestBodySize = most + 1;
        }

        var body = new ArrayBufferWriter<byte>();
        using var limit = new CancellationTokenSource(Limit, time);
        using var either = CancellationTokenSource.CreateLinkedTokenSource(limit.Token, http.RequestAborted);

        // Until the body is there the connection waits for its caller, as one with a slow head: others may need its place.
        var activity = http.Features.Get<ConnectionActivity>();
        activity?.RequestEnded();
        try
        {
            int read;
            while (body.WrittenCount <= most
                && (read = await http.Request.Body.ReadAsync(body.GetMemory(Piece), either.Token).ConfigureAwait(false)) > 0)
            {
                body.Advance(read);
            }
        }
        catch (OperationCanceledException) when (limit.IsCancellationRequested)
        {
            return (default, new AdminBodyProblem(
                StatusCodes.Status408RequestTimeout, "slow", "The body has not come in time.", EndsConnection: true));
        }
        catch (BadHttpRequestException exception) when (exception.StatusCode != StatusCodes.Status413PayloadTooLarge)
        {
            return (default, new AdminBodyProblem(exception.StatusCode, "body", "The body breaks HTTP.", EndsConnection: true));
        }
        catch (BadHttpRequestException)
        {
            return (default, TooLarge(most));
        }
        finally
        {
            activity?.RequestBegan();
        }

        return body.WrittenCount > most ? (default, TooLarge(most)) : (body.WrittenMemory, null);
    }

    private static AdminBodyProblem TooLarge(int most) => new(
        StatusCodes.Status413PayloadTooLarge,
        "body",
        FormattableString.Invariant($"A body has at most {most} bytes here."),
        EndsConnection: false);
}
