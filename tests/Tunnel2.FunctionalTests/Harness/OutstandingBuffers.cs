using Tunnel2.FunctionalTests.Harness;
using Tunnel2.Multiplexing.Buffers;
using Tunnel2.TestUtilities;

[assembly: AssemblyFixture(typeof(OutstandingBuffers))]

namespace Tunnel2.FunctionalTests.Harness;

/// <summary>Fails the run when a buffer of the data plane did not come back, after any end of the streams that had it.</summary>
public sealed class OutstandingBuffers : IAsyncDisposable
{
    public async ValueTask DisposeAsync() =>
        await WaitSignal.UntilAsync(
            static () => BufferPool.Shared.Outstanding == 0, $"all buffers are back ({BufferPool.Shared.Outstanding} are out)");
}
