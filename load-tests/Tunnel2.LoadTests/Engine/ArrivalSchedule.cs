using Tunnel2.LoadTests.Scenarios;

namespace Tunnel2.LoadTests.Engine;

/// <summary>When the arrivals of a flow are due, one after another, for any result.</summary>
internal sealed class ArrivalSchedule
{
    private const double NanosecondsPerSecond = 1e9;

    private readonly IReadOnlyList<LoadStep> _steps;
    private long _stepStart;
    private long _inStep;

    /// <summary>Starts at an instant.</summary>
    /// <param name="steps">At least one.</param>
    /// <param name="start">The first arrival, in nanoseconds.</param>
    public ArrivalSchedule(IReadOnlyList<LoadStep> steps, long start)
    {
        _steps = steps;
        _stepStart = start;
        Due = start;
    }

    /// <summary>When the next arrival is due, in nanoseconds; <see cref="long.MaxValue"/>: there is none.</summary>
    public long Due { get; private set; }

    /// <summary>Its step.</summary>
    public int Step { get; private set; }

    /// <summary>Its number, from 0.</summary>
    public long Index { get; private set; }

    /// <summary>Whether there are no more.</summary>
    public bool IsOver => Due == long.MaxValue;

    /// <summary>Continues with the next arrival.</summary>
    /// <returns>Whether it is in another step, or there is none.</returns>
    public bool Advance()
    {
        var step = _steps[Step];
        Index++;
        if (++_inStep < step.Arrivals)
        {
            Due = _stepStart + (long)(_inStep / step.GroupSize * NanosecondsPerSecond / step.GroupsPerSecond);
            return false;
        }

        _stepStart += (long)Math.Max(
            step.Duration.TotalSeconds * NanosecondsPerSecond,
            step.Arrivals / step.GroupSize * NanosecondsPerSecond / step.GroupsPerSecond);
        _inStep = 0;
        Due = ++Step < _steps.Count ? _stepStart : long.MaxValue;
        return true;
    }

    /// <summary>Ends it.</summary>
    public void Stop() => Due = long.MaxValue;
}
