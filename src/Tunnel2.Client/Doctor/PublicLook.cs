using System.Diagnostics.CodeAnalysis;
using System.Globalization;
using System.Net;
using System.Net.Security;
using System.Net.Sockets;
using Tunnel2.Client.Core.Ways;
using Tunnel2.Transport.Outputs;

namespace Tunnel2.Client.Doctor;

/// <summary>Calls the server's public address as a visitor does: who has a name, and what the server's clock says.</summary>
internal static class PublicLook
{
    private const string ErrorField = "Tunnel2-Error";
    private const string UnknownName = "unknown-name";
    private const string AgentOffline = "agent-offline";
    private const string NameUnchecked = "name-unchecked";
    private const string Clock = "clock";

    /// <summary>Longer than a server keeps a request for an agent that may come back.</summary>
    private static readonly TimeSpan _patience = TimeSpan.FromSeconds(15);

    private static readonly TimeSpan _patienceForClock = TimeSpan.FromSeconds(5);

    private static readonly TimeSpan _smallDifference = TimeSpan.FromSeconds(30);
    private static readonly TimeSpan _largeDifference = TimeSpan.FromMinutes(5);

    /// <summary>Asks for the root of a public URL.</summary>
    /// <param name="url">The URL of the name.</param>
    /// <param name="name">The name, where an agent may have it; null: a random name, which no agent has.</param>
    /// <param name="ownAgent">The agent of this user that has the name, or null.</param>
    /// <param name="time">This machine's clock.</param>
    /// <param name="stop">Gives up.</param>
    public static async Task<IReadOnlyList<Finding>> RunAsync(
        Uri url, string? name, string? ownAgent, TimeProvider time, CancellationToken stop)
    {
        string authority = url.GetLeftPart(UriPartial.Authority);
        Answer answer = await CallAsync(url, _patience, time, stop);
        if (answer.Failure is { } failure)
        {
            return
            [
                Finding.Warning(
                    "public", $"{authority} cannot be called from here: {failure}",
                    "visitors need a DNS entry for *.DOMAIN that leads to the server, and its public port open"),
            ];
        }

        List<Finding> findings = [JudgeClock(answer.Date, time.GetUtcNow()), .. JudgeName(name, answer.Error, ownAgent)];
        if (!answer.IsTrusted)
        {
            findings.Insert(0, Finding.Warning(
                "public",
                $"{authority} shows a certificate that is not trusted here: it is self-made, for another name, has ended, or is of an "
                    + "unknown authority",
                "the server needs one for its names: automatic ones (Acme:Directory), the first of which come some seconds after a "
                    + "visit, or Public:CertificateFolder"));
        }

        return findings;
    }

    /// <summary>Looks at the clock alone, where no public URL is known.</summary>
    /// <param name="url">The server's own address for visitors.</param>
    /// <param name="time">This machine's clock.</param>
    /// <param name="stop">Gives up.</param>
    public static async Task<Finding> RunForClockAsync(Uri url, TimeProvider time, CancellationToken stop)
    {
        Answer answer = await CallAsync(url, _patienceForClock, time, stop);
        return answer.Failure is { } failure
            ? Finding.Skipped(Clock, $"not looked at: {url.GetLeftPart(UriPartial.Authority)} cannot be called from here: {failure}")
            : JudgeClock(answer.Date, time.GetUtcNow());
    }

    [SuppressMessage(
        "Security", "CA5359", Justification = "The call carries no secret, and its answer counts in any case: distrust is a finding.")]
    private static async Task<Answer> CallAsync(Uri url, TimeSpan patience, TimeProvider time, CancellationToken stop)
    {
        using var limit = CancellationTokenSource.CreateLinkedTokenSource(stop);
        limit.CancelAfter(patience);
        bool isTrusted = true;
        try
        {
            using var handler = new SocketsHttpHandler
            {
                AllowAutoRedirect = false,
                UseCookies = false,
                UseProxy = !IsHere(url.Host),
                ConnectCallback = (context, limited) => ConnectAsync(context.DnsEndPoint, time, limited),
                SslOptions = new SslClientAuthenticationOptions
                {
                    RemoteCertificateValidationCallback = (_, _, _, errors) =>
                    {
                        isTrusted = errors == SslPolicyErrors.None;
                        return true;
                    },
                },
            };
            using var client = new HttpClient(handler) { Timeout = Timeout.InfiniteTimeSpan };
            using var request = new HttpRequestMessage(HttpMethod.Get, url);
            using var answer = await client.SendAsync(request, HttpCompletionOption.ResponseHeadersRead, limit.Token);
            string? error = answer.Headers.TryGetValues(ErrorField, out var values) ? values.FirstOrDefault() : null;
            return new Answer(error, answer.Headers.Date, isTrusted, null);
        }
        catch (Exception exception) when (exception is HttpRequestException or OperationCanceledException)
        {
            string reason = exception is HttpRequestException failure ? HttpFailure.Reason(failure) : "no answer in time";
            return new Answer(null, null, isTrusted, reason);
        }
    }

    /// <summary>Compares this machine's clock with that of an answer.</summary>
    public static Finding JudgeClock(DateTimeOffset? server, DateTimeOffset now)
    {
        if (server is not { } date)
        {
            return Finding.Skipped(Clock, "the server's answer has no Date");
        }

        TimeSpan difference = (now - date).Duration();
        string words = string.Create(
            CultureInfo.InvariantCulture, $"this machine's clock and the server's differ by {Math.Floor(difference.TotalSeconds):0} s");
        const string Remedy = "set both by NTP (timedatectl set-ntp true)";
        return difference > _largeDifference ? Finding.Wrong(Clock, words, Remedy + "; certificates and logins depend on it")
            : difference > _smallDifference ? Finding.Warning(Clock, words, Remedy)
            : Finding.Ok(Clock, words);
    }

    private static IEnumerable<Finding> JudgeName(string? name, string? error, string? ownAgent)
    {
        if (name is null)
        {
            return [];
        }

        return ownAgent is not null ? [Finding.Ok("name", $"'{name}' is the tunnel of your agent {ownAgent}")]
            : error == UnknownName ? [Finding.Ok("name", $"no agent has '{name}'")]

            // Known without an agent: by the settings, of one that has left, or because the server has just started.
            : error == AgentOffline ? [Finding.Ok("name", $"no agent has '{name}' now")]
            : error == NameUnchecked ? [Finding.Skipped("name", "the server cannot ask its cluster for it now")]
            : [
                Finding.Warning(
                    "name", $"an agent has '{name}'",
                    "with the same token a new agent takes it over; otherwise choose another --name, or stop that agent"),
            ];
    }

    /// <summary>Whether a name is this machine's by its definition: no proxy knows what is there.</summary>
    private static bool IsHere(string host) => host.EndsWith(".localhost", StringComparison.OrdinalIgnoreCase);

    /// <summary>As visitors' programs do, it takes the first address that answers.</summary>
    private static async ValueTask<Stream> ConnectAsync(DnsEndPoint called, TimeProvider time, CancellationToken limit)
    {
        // Not every resolver knows names below localhost.
        IPAddress[] addresses = IsHere(called.Host) ? [IPAddress.Loopback] : await Dns.GetHostAddressesAsync(called.Host, limit);
        var (stream, _) = await AddressRace.RunAsync(
            AddressRace.Order(addresses), (address, stop) => OpenAsync(address, called.Port, stop), time, limit);
        return stream;
    }

    private static async Task<NetworkStream> OpenAsync(IPAddress address, int port, CancellationToken stop)
    {
        var socket = new Socket(address.AddressFamily, SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
        try
        {
            await socket.ConnectAsync(address, port, stop);
            return new NetworkStream(socket, ownsSocket: true);
        }
        catch
        {
            socket.Dispose();
            throw;
        }
    }

    /// <param name="Error">The server's code of an error; null: an agent's answer.</param>
    /// <param name="Date">The server's clock.</param>
    /// <param name="IsTrusted">Whether this machine trusts the certificate that was shown.</param>
    /// <param name="Failure">Why there is no answer; null: there is one.</param>
    private sealed record Answer(string? Error, DateTimeOffset? Date, bool IsTrusted, string? Failure);
}
