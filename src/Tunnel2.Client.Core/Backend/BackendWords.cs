using System.Globalization;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Protocol.Errors;

namespace Tunnel2.Client.Core.Backend;

/// <summary>The words for the user about a backend: what happens, and what to do.</summary>
internal static class BackendWords
{
    public static string Surplus(BackendTarget target, ResponseKind kind)
    {
        var responses = kind switch
        {
            ResponseKind.Empty => "answers without content",
            ResponseKind.Head => "answers to HEAD",
            ResponseKind.NoContent => "204 answers",
            ResponseKind.NotModified => "304 answers",
            _ => "answers",
        };
        return $"{target} sends bytes after the end of its {responses}. No visitor gets them; no connection is used again after such an "
            + $"answer for the next 10 minutes.";
    }

    /// <summary>This machine has no connection left.</summary>
    public static string Shortage(StreamResetDetail detail, BackendSlots slots) => detail == StreamResetDetail.NoDescriptors
        ? "No file descriptor is left for a connection to a service: raise the limit of open files (ulimit -n), or lower "
            + "--backend-connections. Requests wait for a connection that there is, and get 503 where none becomes free in time."
        : string.Create(
            CultureInfo.InvariantCulture,
            $"Connections to services: {slots.Taken} of {slots.Limit} in use (--backend-connections){Rest(slots)}; ")
            + string.Create(CultureInfo.InvariantCulture, $"requests that wait their turn: {slots.Waiting}");

    private static string Rest(BackendSlots slots) => slots.Taken == slots.Limit ? ""
        : slots.Taken >= slots.Room ? ", and no file descriptor for more"
        : ", the others are left for other tunnels";

    public static string Unreachable(BackendTarget target, BackendFailure failure)
    {
        string until = target.IsRaw ? "Until then visitors' connections are closed." : "Until then visitors get 502.";
        return failure.Detail switch
        {
            StreamResetDetail.ConnectionRefused =>
                $"Nothing listens at {target}: start the service, or check the {Place(target)}. {until}",
            StreamResetDetail.NameNotResolved =>
                $"The host name of {target} has no address (DNS): check how it is written. {until}",
            StreamResetDetail.ConnectTimeout =>
                $"{target} does not answer: is the service up, and does a firewall drop the connection? "
                    + until.Replace("502", "504", StringComparison.Ordinal),
            StreamResetDetail.TlsFailed =>
                $"The TLS handshake with {target} fails: does the service speak https, is its certificate trusted here, and does it "
                    + $"ask for none of the agent? {until}",
            StreamResetDetail.NotTls =>
                $"{target} does not speak TLS: start the agent with {target with { IsHttps = false }}. {until}",
            _ when (target.SocketPath ?? target.PipeName) is not null =>
                $"There is no way to {target}: check that the agent may use it. {until}",
            _ => $"There is no way to {target}: check host and network. {until}",
        };
    }

    /// <summary>What of the target may be wrong where nothing listens.</summary>
    private static string Place(BackendTarget target) =>
        target.SocketPath is not null ? "path" : target.PipeName is not null ? "name" : "port";

    /// <summary>For a backend that answers and speaks something else; null where it is not known what.</summary>
    /// <param name="target">The backend.</param>
    /// <param name="detail">What was found out.</param>
    /// <param name="greeting">What it begins with, where that can be read.</param>
    public static string? Misunderstood(BackendTarget target, StreamResetDetail detail, string? greeting) => detail switch
    {
        StreamResetDetail.SpeaksTls =>
            $"{target} speaks TLS, and the agent speaks plain HTTP to it: start the agent with {target with { IsHttps = true }}. Until "
                + $"then visitors get 502.",
        StreamResetDetail.SpeaksHttp2 =>
            $"{target} speaks only HTTP/2, as gRPC servers do: requests go to it in HTTP/2 from now on, unless --backend-protocol is h1.",
        StreamResetDetail.WantsCertificate =>
            $"{target} asks its clients for a certificate, and the agent has none: let the service take connections of this machine "
                + $"without one, or use 'tunnel2 tls', so that visitors show it theirs. Until then visitors get 502.",
        StreamResetDetail.MalformedHead when greeting is not null =>
            $"{target} does not speak HTTP, it begins with '{greeting}': check the port. Until then visitors get 502.",
        _ => null,
    };
}
