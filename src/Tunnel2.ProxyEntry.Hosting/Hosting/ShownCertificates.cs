using Tunnel2.ProxyEntry.Certificates;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Fronts.Tls;
using Tunnel2.ProxyEntry.Live;
using Tunnel2.ProxyEntry.Uplink;

namespace Tunnel2.ProxyEntry.Hosting;

/// <summary>Lists the certificates of a server for operators, when its listeners are open. Stateless.</summary>
internal static class ShownCertificates
{
    /// <summary>Adds the certificates in use, each with who sees it.</summary>
    public static void List(ProxyEntrySettings settings, UplinkTlsSetup tls, IServiceProvider services)
    {
        var certificates = services.GetRequiredService<CertificateUses>();
        if (settings.HttpsListen is not null)
        {
            var visitors = services.GetRequiredService<VisitorTls>();
            certificates.Add("visitors", visitors.Facts, visitors.Refusal);
            foreach (var named in visitors.Named)
            {
                certificates.Add("visitors", named);
            }
        }

        if (tls.Certificate is { } uplink)
        {
            Add(certificates, "agents", uplink, settings.UplinkSecurity);
        }

        if (services.GetRequiredService<LivePlane>().RelayCertificate is ReloadingCertificate relay)
        {
            Add(certificates, "relay", relay, settings.RelaySecurity);
        }
    }

    private static void Add(CertificateUses certificates, string use, ReloadingCertificate certificate, UplinkSecurity security)
    {
        var origin = security == UplinkSecurity.SelfMade ? "self-made" : "file";
        certificates.Add(use, () => certificate.Facts with { Origin = origin }, () => certificate.Refusal);
    }
}
