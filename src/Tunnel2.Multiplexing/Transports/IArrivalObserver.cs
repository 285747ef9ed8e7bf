namespace Tunnel2.Multiplexing.Transports;

/// <summary>Is called when something arrives on a connection; see <see cref="IByteTransport.TryReportArrival"/>.</summary>
internal interface IArrivalObserver
{
    /// <summary>
    /// Bytes, an end or a failure have arrived. On the thread of the connection's loop; never inside the call that asked.
    /// </summary>
    void OnArrival();
}
