using System.Net;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Diagnostics;

namespace Tunnel2.ProxyEntry.Api;

/// <summary>Writes each change by the API to the log: who, what, on what; never a secret. Thread-safe.</summary>
internal sealed class ApiAudit(ProxyEntrySettings settings, ILogger<ApiAudit> logger)
{
    private readonly string _credential = settings.AdminToken is null ? "no token is set" : "by Admin:Token";

    /// <summary>A change was carried out.</summary>
    /// <param name="call">The request for it.</param>
    /// <param name="action">What was done, with a verb.</param>
    /// <param name="target">On what; a name that was checked.</param>
    public void Changed(ApiCall call, string action, string target) => Changed(call.From, action, target);

    private void Changed(IPAddress? from, string action, string target) =>
        ProxyEntryLog.AdminChange(logger, from, _credential, action, target);
}
