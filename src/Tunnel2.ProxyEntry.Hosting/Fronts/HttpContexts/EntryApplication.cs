using Microsoft.AspNetCore.Hosting.Server;
using Microsoft.AspNetCore.Hosting.Server.Abstractions;
using Microsoft.AspNetCore.Http.Features;
using Tunnel2.ProxyEntry.Admin;
using Tunnel2.ProxyEntry.Api;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Forwarding;
using Tunnel2.ProxyEntry.Fronts.Http2;
using Tunnel2.ProxyEntry.Inspection;
using Tunnel2.ProxyEntry.Live;

namespace Tunnel2.ProxyEntry.Fronts.HttpContexts;

/// <summary>
/// Kestrel calls it for each request, instead of ASP.NET Core's hosting layer, whose diagnostics and middleware a forwarded request does
/// not need. The listener decides where a request goes.
/// </summary>
internal sealed class EntryApplication : IHttpApplication<EntryRequest>
{
    private readonly Forwarder _forwarder;
    private readonly ForwardWatchdog _watchdog;
    private readonly AdminEndpoints _admin;
    private readonly LiveEndpoint _live;
    private readonly InspectionEndpoints _inspection;
    private readonly ApiEndpoints _api;
    private readonly LargeHeads _heads;
    private readonly ProxyEntrySettings _settings;
    private readonly TimeProvider _timeProvider;

    public EntryApplication(
        Forwarder forwarder,
        ForwardWatchdog watchdog,
        AdminEndpoints admin,
        LiveEndpoint live,
        InspectionEndpoints inspection,
        ApiEndpoints api,
        LargeHeads heads,
        ProxyEntrySettings settings,
        TimeProvider timeProvider)
    {
        _timeProvider = timeProvider;
        _forwarder = forwarder;
        _watchdog = watchdog;
        _admin = admin;
        _live = live;
        _inspection = inspection;
        _api = api;
        _heads = heads;
        _settings = settings;
    }

    /// <inheritdoc/>
    public EntryRequest CreateContext(IFeatureCollection contextFeatures)
    {
        var container = contextFeatures as IHostContextContainer<EntryRequest>;
        var request = container?.HostContext;
        if (request is null)
        {
            request = new EntryRequest(contextFeatures, _settings);
            container?.HostContext = request;
        }
        else
        {
            request.Http.Initialize(contextFeatures);
        }

        request.Activity?.RequestBegan();
        return request;
    }

    /// <inheritdoc/>
    public Task ProcessRequestAsync(EntryRequest context)
    {
        if (context.Http.Features.Get<AdminRefusals>() is { } admin)
        {
            context.Admin = admin;
            admin.IsServing = true;
            return HandleAdminAsync(context.Http);
        }

        context.Exchange.Begin();
        if (!_heads.TryTake(context.Exchange, context.State, context.Exchange.HeadLength, out var head))
        {
            context.Exchange.Refuse();
            context.Exchange.LetGo();
            return Task.CompletedTask;
        }

        context.Head = head;
        return ForwardAsync(context);
    }

    /// <inheritdoc/>
    public void DisposeContext(EntryRequest context, Exception? exception)
    {
        context.Activity?.RequestEnded();
        if (context.Head is { } head)
        {
            context.Head = null;
            context.Exchange.LetGo();
            _heads.Return(head);
        }

        context.Http.Uninitialize();
        context.Admin?.IsServing = false;
    }

    /// <summary>
    /// Forwards a request, and limits the wait until the visitor has read what Kestrel holds of the response. Kestrel alone would wait
    /// without end, and hold a stream of HTTP/2 and its memory.
    /// </summary>
    private async Task ForwardAsync(EntryRequest context)
    {
        await _forwarder.ForwardAsync(context.Exchange, context.State).ConfigureAwait(false);
        if (context.Exchange.IsAborted || context.Http.RequestAborted.IsCancellationRequested)
        {
            return;
        }

        try
        {
            await _watchdog.WaitForVisitorAsync(
                context.Exchange, context.State, context.Http.Response.CompleteAsync()).ConfigureAwait(false);
            await UnreadBody.DropAsync(context.Exchange, _timeProvider).ConfigureAwait(false);
        }
        catch (Exception)
        {
            // The visitor is gone, or has broken HTTP in that time. The answer ends here, and Kestrel knows it.
        }
    }

    /// <summary>Requests of the admin listener go to the pool first, because they must not hold an engine's thread.</summary>
    private async Task HandleAdminAsync(HttpContext http)
    {
        await Task.CompletedTask.ConfigureAwait(ConfigureAwaitOptions.ForceYielding);
        if (http.Request.ContentLength == ContentLengthText.Broken)
        {
            http.Response.Headers.Connection = "close";
            await AdminProblem.WriteAsync(http, StatusCodes.Status400BadRequest, "http", "The Content-Length is no number of bytes.")
                .ConfigureAwait(false);
            return;
        }

        if (!await _live.TryHandleAsync(http).ConfigureAwait(false) && !await _inspection.TryHandlePageAsync(http).ConfigureAwait(false))
        {
            await _admin.HandleAsync(http, _api.HandleAsync).ConfigureAwait(false);
        }
    }
}
