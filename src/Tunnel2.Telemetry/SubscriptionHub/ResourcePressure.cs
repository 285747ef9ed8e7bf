namespace Tunnel2.Telemetry.SubscriptionHub;

/// <summary>What the hub does about the use of a resource.</summary>
internal enum PressureLevel
{
    /// <summary>Nothing.</summary>
    Calm = 0,

    /// <summary>Pauses slow subscribers.</summary>
    Pausing,

    /// <summary>Refuses new connections as well.</summary>
    Refusing,
}

/// <summary>
/// The smoothed use of one resource, and the level that follows from it. A reading raises the level by one step at most, so slow
/// subscribers are paused for a reading before any of them is refused. Only the accept share ends a level. A part of the guard: not
/// thread-safe.
/// </summary>
/// <param name="limits">The shares at which the level changes.</param>
/// <param name="smoothing">The share of each reading in the smoothed use.</param>
internal sealed class ResourcePressure(ShareLimits limits, double smoothing)
{
    /// <summary>The smoothed use.</summary>
    public double Use { get; private set; }

    /// <summary>The level.</summary>
    public PressureLevel Level { get; private set; }

    /// <summary>Adds a reading.</summary>
    public void Observe(double reading)
    {
        Use += smoothing * (reading - Use);
        if (Use <= limits.Accept)
        {
            Level = PressureLevel.Calm;
        }
        else if (Level == PressureLevel.Calm && Use > limits.Pause)
        {
            Level = PressureLevel.Pausing;
        }
        else if (Level == PressureLevel.Pausing && Use > limits.Reject)
        {
            Level = PressureLevel.Refusing;
        }
    }
}
