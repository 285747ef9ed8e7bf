using Tunnel2.ProxyEntry.Acme;
using Tunnel2.ProxyEntry.Api.Documents;
using Tunnel2.ProxyEntry.Certificates;

namespace Tunnel2.ProxyEntry.Api;

/// <summary>The certificates in use, and orders for new ones. No private key is ever shown. Thread-safe.</summary>
internal sealed class CertificatesApi(CertificateUses uses, ApiAudit audit, AutomaticCertificates? automatic = null)
{
    /// <summary>The certificates in use.</summary>
    public ValueTask<ApiAnswer> ListAsync(ApiCall call) => ValueTask.FromResult(ApiAnswer.Of(new CertificateList
    {
        Certificates =
        [
            .. uses.Now().OrderBy(static one => one.Facts.NotAfter).Select(static one => new CertificateInfo
            {
                Use = one.Use,
                Subject = one.Facts.Subject,
                Fingerprint = one.Facts.Fingerprint,
                NotBefore = new DateTimeOffset(one.Facts.NotBefore, TimeSpan.Zero),
                NotAfter = new DateTimeOffset(one.Facts.NotAfter, TimeSpan.Zero),
            }),
        ],
        Total = uses.Counts().Sum(static one => one.Count),
        Refused = uses.Refused(),
    }));

    /// <summary>Orders a new certificate, beside those that are due anyway. Once more, while it waits, it changes nothing.</summary>
    public ValueTask<ApiAnswer> RenewAsync(ApiCall call) => ValueTask.FromResult(Renew(call));

    private ApiAnswer Renew(ApiCall call)
    {
        if (automatic is null)
        {
            return ApiAnswer.Problem(
                StatusCodes.Status409Conflict, "no-authority", "Tunnel2:Acme:Directory is not set, so the server renews no certificate.");
        }

        var name = call.Name.ToLowerInvariant();
        try
        {
            if (!automatic.TryAskRenewal(name))
            {
                return ApiAnswer.Problem(
                    StatusCodes.Status404NotFound, "no-certificate", "The name is not in Tunnel2:Acme:Names and has no certificate.");
            }
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            return ApiAnswer.Problem(
                StatusCodes.Status503ServiceUnavailable, "state-folder", "The state folder cannot be written: " + exception.Message);
        }

        audit.Changed(call, "orders a new certificate for", name);
        return ApiAnswer.Of(new RenewalRequest { Name = name }, StatusCodes.Status202Accepted);
    }
}
