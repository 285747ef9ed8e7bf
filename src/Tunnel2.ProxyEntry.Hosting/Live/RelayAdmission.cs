using System.Net;
using Tunnel2.ProxyEntry.Agents;
using Tunnel2.ProxyEntry.Uplink;
using Tunnel2.Telemetry.Relay;

namespace Tunnel2.ProxyEntry.Live;

/// <summary>
/// Judges the tokens of the relay's clients: the relay shows every request, so it asks for the admin token where there is one. A missing
/// and a wrong token get the same answer. An address that failed too often has to wait, with a good token too. Thread-safe.
/// </summary>
/// <param name="token">The required token, or null for none.</param>
/// <param name="attempts">The failures of each address, apart from those at the uplink.</param>
/// <param name="logger">The log.</param>
internal sealed class RelayAdmission(TokenHash? token, FailedAttempts attempts, ILogger logger)
{
    /// <summary>Judges one client. The token is compared in constant time.</summary>
    public RelayStatus Admit(IPAddress address, ReadOnlyMemory<byte> shown)
    {
        if (token is null)
        {
            return RelayStatus.Accepted;
        }

        if (!attempts.MayTry(address, out _))
        {
            return RelayStatus.TooManyClients;
        }

        if (token.Matches(shown.Span))
        {
            return RelayStatus.Accepted;
        }

        attempts.Note(address);
        LiveLog.RelayClientRefused(logger, address);
        return RelayStatus.NotAuthorized;
    }
}
