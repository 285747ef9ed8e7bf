namespace Tunnel2.ProxyEntry.Diagnostics.Prometheus;

/// <summary>The type of a metric family.</summary>
internal enum PrometheusType
{
    /// <summary>A sum that only grows.</summary>
    Counter,

    /// <summary>A value that goes up and down.</summary>
    Gauge,

    /// <summary>Counts of observations by upper bound.</summary>
    Histogram,
}
