using Tunnel2.Protocol;

namespace Tunnel2.Transport.Outputs;

/// <summary>Why a command got no answer by HTTP, in words for its user. Stateless.</summary>
internal static class HttpFailure
{
    /// <summary>
    /// The reason: of a server that is not reached, the system's words and the address; otherwise the innermost exception's, such as "The
    /// response ended prematurely". Those around it only say that an error occurred.
    /// </summary>
    public static string Reason(HttpRequestException exception) => PlainText.Clean(
        exception.HttpRequestError is HttpRequestError.ConnectionError or HttpRequestError.NameResolutionError
            ? exception.Message
            : exception.GetBaseException().Message);
}
