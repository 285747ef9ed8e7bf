namespace Tunnel2.Telemetry.Aggregation;

/// <summary>Receives windows when they close, on the thread of their partition.</summary>
internal interface IWindowSink
{
    /// <summary>A window has closed. The cell is valid during the call only.</summary>
    void OnWindow(int key, long start, int seconds, WindowCell cell);
}
