using System.Diagnostics.Metrics;
using Tunnel2.ProxyEntry.Diagnostics;

namespace Tunnel2.ProxyEntry.Certificates;

/// <summary>Shows the ends of certificates as metrics, in the meter of <see cref="ProxyEntryMetrics"/>. Read only when asked.</summary>
internal sealed class CertificateMetrics
{
    public CertificateMetrics(IMeterFactory factory, CertificateUses uses)
    {
        var meter = factory.Create(ProxyEntryMetrics.MeterName);
        meter.CreateObservableGauge(
            "tunnel2.entry.certificates",
            () => uses.Counts().Select(static one => new Measurement<int>(one.Count, Use(one.Use))),
            "{certificate}",
            "Certificates in use.");
        meter.CreateObservableGauge(
            "tunnel2.entry.certificate.end",
            () => uses.Now()
                .GroupBy(static one => one.Use, StringComparer.Ordinal)
                .Select(static use => new Measurement<double>(
                    new DateTimeOffset(use.Min(static one => one.Facts.NotAfter), TimeSpan.Zero).ToUnixTimeSeconds(), Use(use.Key))),
            "s",
            "When the first certificate of a use ends, in seconds since 1970.");
        meter.CreateObservableGauge(
            "tunnel2.entry.certificates.refused",
            uses.Refused,
            "{certificate}",
            "Certificates that cannot be used, or not be renewed, at the last look.");
    }

    private static KeyValuePair<string, object?> Use(string use) => new("use", use);
}
