using Microsoft.AspNetCore.Http.Features;
using Tunnel2.ProxyEntry.Admin;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Connections;
using Tunnel2.ProxyEntry.Fronts.Http2;
using Tunnel2.ProxyEntry.Requests;

namespace Tunnel2.ProxyEntry.Fronts.HttpContexts;

/// <summary>A running request and its objects; reused for the next requests of its connection.</summary>
internal sealed class EntryRequest
{
    public EntryRequest(IFeatureCollection features, ProxyEntrySettings settings)
    {
        Http = new DefaultHttpContext(features);
        Activity = features.Get<ConnectionActivity>();
        Exchange = new HttpContextExchange(Http, settings, Activity);
    }

    public DefaultHttpContext Http { get; }

    /// <summary>The activity of its connection; null in a test without one.</summary>
    public ConnectionActivity? Activity { get; }

    /// <summary>Where its connection is one of the admin listener; null otherwise.</summary>
    public AdminRefusals? Admin { get; set; }

    public HttpContextExchange Exchange { get; }

    /// <summary>What its head counts for; null where it is small.</summary>
    public LargeHead? Head { get; set; }

    public ForwardedRequest State { get; } = new();
}
