using System.Runtime.CompilerServices;
using Tunnel2.ProxyEntry.Requests;

namespace Tunnel2.ProxyEntry.Tests.InMemory;

/// <summary>A request that the forwarder has, or had.</summary>
/// <param name="Visitor">Who asked.</param>
/// <param name="State">What the forwarder keeps of it.</param>
/// <param name="Done">Completes when the forwarder is done with it.</param>
internal sealed record AskedRequest(ScriptedVisitor Visitor, ForwardedRequest State, Task Done)
{
    /// <summary>
    /// Makes a request look as if nothing had moved for so long. The clock of these limits is the system's: what is exactly as old as a
    /// limit stays so for a millisecond at most.
    /// </summary>
    /// <returns>The system's time that was taken for now.</returns>
    public static long StandStill(ForwardedRequest state, TimeSpan time)
    {
        var now = Environment.TickCount64;
        LastProgress(state) = now - (long)time.TotalMilliseconds;
        return now;
    }

    /// <inheritdoc cref="StandStill(ForwardedRequest, TimeSpan)"/>
    public long StandStill(TimeSpan time) => StandStill(State, time);

    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_lastProgress")]
    private static extern ref long LastProgress(ForwardedRequest request);
}
