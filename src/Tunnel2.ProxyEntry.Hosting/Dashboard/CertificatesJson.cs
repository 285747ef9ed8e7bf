using System.Text.Json;
using Tunnel2.ProxyEntry.Certificates;

namespace Tunnel2.ProxyEntry.Dashboard;

/// <summary>Writes the certificates of this server as members of <c>node.load</c> (docs/live.md). Stateless.</summary>
internal static class CertificatesJson
{
    public static void WriteMembers(Utf8JsonWriter json, CertificateUses certificates)
    {
        json.WriteStartArray("certificates"u8);
        foreach (var (use, certificate) in certificates.Now())
        {
            json.WriteStartObject();
            json.WriteString("use"u8, use);
            json.WriteString("names"u8, certificate.Names);
            json.WriteString("origin"u8, certificate.Origin);
            json.WriteString("subject"u8, certificate.Subject);
            json.WriteString("fingerprint"u8, certificate.Fingerprint);
            json.WriteNumber("notBeforeMs"u8, new DateTimeOffset(certificate.NotBefore, TimeSpan.Zero).ToUnixTimeMilliseconds());
            json.WriteNumber("notAfterMs"u8, new DateTimeOffset(certificate.NotAfter, TimeSpan.Zero).ToUnixTimeMilliseconds());
            json.WriteEndObject();
        }

        json.WriteEndArray();
        json.WriteNumber("certificateCount"u8, certificates.Counts().Sum(static one => one.Count));
        json.WriteStartArray("refusedCertificates"u8);
        foreach (var (use, refusal) in certificates.Refusals())
        {
            json.WriteStartObject();
            json.WriteString("use"u8, use);
            json.WriteString("name"u8, refusal.Name);
            json.WriteString("reason"u8, refusal.Reason);
            if (refusal.NextTry is { } next)
            {
                json.WriteNumber("nextTryMs"u8, next.ToUnixTimeMilliseconds());
            }

            json.WriteEndObject();
        }

        json.WriteEndArray();
        json.WriteNumber("refusedCount"u8, certificates.Refused());
    }
}
