using Tunnel2.Client.Core.Backend;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Protocol.Errors;

namespace Tunnel2.Client.Core.Diagnostics;

/// <summary>The words for a backend that cannot be reached: what happens, and what to do.</summary>
internal static class BackendWords
{
    public static string Unreachable(BackendTarget target, BackendFailure failure) => failure.Detail switch
    {
        StreamResetDetail.ConnectionRefused =>
            $"Nothing listens at {target}: start the service, or check the port. Until then visitors get 502.",
        StreamResetDetail.NameNotResolved =>
            $"The host name of {target} has no address (DNS): check how it is written. Until then visitors get 502.",
        StreamResetDetail.ConnectTimeout =>
            $"{target} does not answer: is the service up, and does a firewall drop the connection? Until then visitors get 504.",
        StreamResetDetail.TlsFailed =>
            $"The TLS handshake with {target} fails: does the service speak https, and is its certificate trusted here? Until then visitors get 502.",
        _ => $"There is no way to {target}: check host and network. Until then visitors get 502.",
    };
}
