using Tunnel2.ProxyEntry.Diagnostics;

namespace Tunnel2.ProxyEntry.Otlp;

/// <summary>Counts whether the batches of an exporter were accepted. Thread-safe.</summary>
internal sealed class CountingHandler : DelegatingHandler
{
    private readonly string _signal;
    private readonly ProxyEntryMetrics _metrics;

    /// <param name="signal"><c>metrics</c> or <c>traces</c>.</param>
    /// <param name="metrics">The metrics for the counts.</param>
    public CountingHandler(string signal, ProxyEntryMetrics metrics)
        : base(new SocketsHttpHandler { UseCookies = false, AllowAutoRedirect = false })
    {
        _signal = signal;
        _metrics = metrics;
    }

    /// <inheritdoc/>
    protected override HttpResponseMessage Send(HttpRequestMessage request, CancellationToken cancellationToken)
    {
        var succeeded = false;
        try
        {
            var response = base.Send(request, cancellationToken);
            succeeded = response.IsSuccessStatusCode;
            return response;
        }
        finally
        {
            _metrics.Exported(_signal, succeeded);
        }
    }

    /// <inheritdoc/>
    protected override async Task<HttpResponseMessage> SendAsync(HttpRequestMessage request, CancellationToken cancellationToken)
    {
        var succeeded = false;
        try
        {
            var response = await base.SendAsync(request, cancellationToken).ConfigureAwait(false);
            succeeded = response.IsSuccessStatusCode;
            return response;
        }
        finally
        {
            _metrics.Exported(_signal, succeeded);
        }
    }
}
