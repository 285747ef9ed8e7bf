using System.Runtime.CompilerServices;
using Tunnel2.ProxyEntry.Requests;

namespace Tunnel2.ProxyEntry.Tests.InMemory;

/// <summary>A request that the forwarder has, or had.</summary>
/// <param name="Visitor">Who asked.</param>
/// <param name="State">What the forwarder keeps of it.</param>
/// <param name="Done">Completes when the forwarder is done with it.</param>
/// <param name="Time">The forwarder's clock.</param>
internal sealed record AskedRequest(ScriptedVisitor Visitor, ForwardedRequest State, Task Done, TimeProvider Time)
{
    /// <summary>Makes the request look as if nothing had moved for so long when the watchdog looks next: a second from now.</summary>
    public void StandStill(TimeSpan time) =>
        LastProgress(State) = new CoarseClock(Time).Milliseconds + 1000 - (long)time.TotalMilliseconds;

    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_lastProgress")]
    private static extern ref long LastProgress(ForwardedRequest request);
}
