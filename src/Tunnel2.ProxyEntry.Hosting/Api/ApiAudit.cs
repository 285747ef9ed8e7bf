using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Diagnostics;

namespace Tunnel2.ProxyEntry.Api;

/// <summary>Writes each change by the API to the log: who, what, on what; never a secret. Thread-safe.</summary>
internal sealed class ApiAudit(ProxyEntrySettings settings, ILogger<ApiAudit> logger)
{
    /// <summary>What callers of this server have to show.</summary>
    public string Credential { get; } = settings.AdminToken is null ? "no token is set" : "by Admin:Token";

    /// <summary>A change was carried out.</summary>
    /// <param name="call">The request for it.</param>
    /// <param name="action">What was done, with a verb.</param>
    /// <param name="target">On what; a name that was checked.</param>
    public void Changed(ApiCall call, string action, string target) =>
        ProxyEntryLog.AdminChange(logger, call.From, call.Credential ?? Credential, action, target);
}
