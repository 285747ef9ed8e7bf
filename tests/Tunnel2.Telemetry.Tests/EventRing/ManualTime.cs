namespace Tunnel2.Telemetry.Tests.EventRing;

/// <summary>A clock that moves only when a test moves it. Safe on any thread.</summary>
internal sealed class ManualTime : TimeProvider
{
    private long _ticks = new DateTime(2026, 1, 1, 0, 0, 0, DateTimeKind.Utc).Ticks;

    public override long TimestampFrequency => TimeSpan.TicksPerSecond;

    public override long GetTimestamp() => Interlocked.Read(ref _ticks);

    public override DateTimeOffset GetUtcNow() => new(Interlocked.Read(ref _ticks), TimeSpan.Zero);

    internal void Advance(TimeSpan by) => Interlocked.Add(ref _ticks, by.Ticks);
}
