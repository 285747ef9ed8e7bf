using System.Reflection;
using Tunnel2.ProxyEntry.Api.Documents;
using Tunnel2.ProxyEntry.Certificates;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Lifetime;
using Tunnel2.ProxyEntry.Parking;
using Tunnel2.ProxyEntry.Sessions;

namespace Tunnel2.ProxyEntry.Api;

/// <summary>How the server is. Thread-safe.</summary>
internal sealed class HealthApi(
    ProxyEntrySettings settings, Readiness readiness, ISessionDirectory directory, ParkingLot parking, CertificateUses certificates)
{
    /// <summary>The program's version.</summary>
    public static string Version { get; } =
        (typeof(HealthApi).Assembly.GetCustomAttribute<AssemblyInformationalVersionAttribute>()?.InformationalVersion ?? "0").Split('+')[0];

    /// <summary>Answers with the state.</summary>
    public ValueTask<ApiAnswer> GetAsync(ApiCall call) => ValueTask.FromResult(ApiAnswer.Of(new HealthInfo
    {
        Status = readiness is { Phase: ReadinessPhase.Ready, Trouble: not null } ? "troubled" : readiness.Phase switch
        {
            ReadinessPhase.Starting => "starting",
            ReadinessPhase.Ready => "ready",
            _ => "draining",
        },
        Reason = readiness.Reason,
        Version = Version,
        EntryId = settings.EntryId,
        Domain = settings.Domain,
        Sessions = directory.Count,
        WaitingRequests = parking.Count,
        CertificatesRefused = certificates.Refused(),
    }));
}
