using System.Buffers.Text;
using System.Globalization;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using System.Text.Json;

namespace Tunnel2.ProxyEntry.Acme;

/// <summary>When a certificate should be renewed, as its authority says (RFC 9773). Stateless.</summary>
internal static class RenewalInfo
{
    /// <summary>The certificate's id for its authority (section 4.1); null when the certificate does not say who issued it.</summary>
    public static string? IdOf(string pem)
    {
        using var certificate = X509Certificate2.CreateFromPem(pem);
        if (certificate.Extensions.OfType<X509AuthorityKeyIdentifierExtension>().FirstOrDefault() is not { KeyIdentifier: { } issuer })
        {
            return null;
        }

        // The serial number as DER has it: positive, so a first byte with its high bit set has a zero before it.
        var serial = certificate.SerialNumberBytes.Span;
        byte[] number = serial is [>= 0x80, ..] ? [0, .. serial] : serial.ToArray();
        return $"{Base64Url.EncodeToString(issuer.Span)}.{Base64Url.EncodeToString(number)}";
    }

    /// <summary>Reads the window in which to renew.</summary>
    /// <exception cref="AcmeException">There is none, or it makes no sense.</exception>
    public static (DateTimeOffset Start, DateTimeOffset End) Read(AcmeResponse response)
    {
        if (response.Status != 200)
        {
            throw AcmeJson.Problem(response, "the renewal information");
        }

        var json = AcmeJson.Read(response, "renewal information");
        return json.TryGetProperty("suggestedWindow", out var window) && window.ValueKind == JsonValueKind.Object
            && Moment(window, "start") is { } start && Moment(window, "end") is { } end && start < end
            ? (start, end)
            : throw new AcmeException("the renewal information has no window");
    }

    /// <summary>A moment in a window, so that not all certificates of an authority are renewed at once.</summary>
    public static DateTimeOffset Choose(DateTimeOffset start, DateTimeOffset end) =>
        start + TimeSpan.FromSeconds(RandomNumberGenerator.GetInt32((int)Math.Clamp((end - start).TotalSeconds, 1, int.MaxValue)));

    private static DateTimeOffset? Moment(JsonElement parent, string name) =>
        DateTimeOffset.TryParse(
            AcmeJson.Text(parent, name), CultureInfo.InvariantCulture, DateTimeStyles.AssumeUniversal, out var moment)
            ? moment
            : null;
}
