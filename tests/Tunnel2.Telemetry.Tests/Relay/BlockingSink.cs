using Tunnel2.Telemetry.EventRing;
using Tunnel2.Telemetry.Relay;

namespace Tunnel2.Telemetry.Tests.Relay;

/// <summary>Stops at its first record until the gate opens: a client that does not read for a while.</summary>
internal sealed class BlockingSink : IEventRelaySink
{
    private readonly ManualResetEventSlim _gate;

    internal BlockingSink(ManualResetEventSlim gate)
    {
        _gate = gate;
    }

    internal CheckingSink Checking { get; } = new();

    internal TaskCompletionSource First { get; } = new(TaskCreationOptions.RunContinuationsAsynchronously);

    public void OnRecord(long sequence, ushort type, ReadOnlySpan<byte> payload)
    {
        First.TrySetResult();
        _gate.Wait();
        Checking.OnRecord(sequence, type, payload);
    }

    public void OnGap(RingGap gap) => Checking.OnGap(gap);

    public void OnSlowWarning(long behind, long limit) => Checking.OnSlowWarning(behind, limit);
}
