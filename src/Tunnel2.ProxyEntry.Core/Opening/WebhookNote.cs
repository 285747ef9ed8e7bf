using Tunnel2.ProxyEntry.Access.Webhooks;
using Tunnel2.ProxyEntry.Requests;

namespace Tunnel2.ProxyEntry.Opening;

/// <summary>What <see cref="WebhookGate"/> keeps of a request. Requests of sessions without signatures have none.</summary>
internal sealed class WebhookNote : RequestNote
{
    /// <summary>The rules that the request has passed; null: none yet.</summary>
    public WebhookPolicy? Passed { get; set; }

    /// <summary>The rules that have to be asked.</summary>
    public WebhookPolicy? Policy { get; set; }

    /// <summary>The checks that need the body; null: there are none.</summary>
    public WebhookCheck[]? Checks { get; set; }
}
