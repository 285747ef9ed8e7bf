namespace Tunnel2.LoadTests.Statistics;

/// <summary>What happened on a flow in one interval of a run.</summary>
/// <param name="Second">The end of the interval, in seconds from the start.</param>
/// <param name="Length">Its length in seconds.</param>
/// <param name="Arrivals">Arrivals that were due.</param>
/// <param name="Ok">Correct answers that were completed.</param>
/// <param name="Failed">Failures that were found.</param>
/// <param name="P50">Of the answers completed, in milliseconds.</param>
/// <param name="P99">Of the answers completed, in milliseconds.</param>
/// <param name="Max">Of the answers completed, in milliseconds.</param>
/// <param name="Waiting">Arrivals that waited for a connection at its end.</param>
/// <param name="Connections">Connections that were open at its end.</param>
internal sealed record TimelinePoint(
    double Second, double Length, long Arrivals, long Ok, long Failed, double P50, double P99, double Max, int Waiting, int Connections);
