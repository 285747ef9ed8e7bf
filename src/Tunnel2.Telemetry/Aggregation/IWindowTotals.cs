namespace Tunnel2.Telemetry.Aggregation;

/// <summary>Windows of one part of the input, which those of the other parts are added to. Not thread-safe.</summary>
internal interface IWindowTotals<TSelf> : IWindowSink
    where TSelf : class, IWindowTotals<TSelf>
{
    /// <summary>Adds what another part came to; its session <c>k</c> is <c>renumber(k)</c> here.</summary>
    void Absorb(TSelf other, Func<int, int> renumber);
}
