using Tunnel2.FunctionalTests.Harness;
using Tunnel2.Multiplexing.Buffers;
using Tunnel2.TestUtilities;

[assembly: AssemblyFixture(typeof(OutstandingBuffers))]

namespace Tunnel2.FunctionalTests.Harness;

/// <summary>Fails the run when a buffer of the data plane did not come back, after any end of the streams that had it.</summary>
public sealed class OutstandingBuffers : IAsyncDisposable
{
    public async ValueTask DisposeAsync()
    {
        var sizes = BufferPool.Shared.OutstandingBySize.Where(static size => size.Count != 0);
        var missing = string.Join(", ", sizes.Select(static size => $"{size.Count} of {size.Size}"));
        await WaitSignal.UntilAsync(
            static () => BufferPool.Shared.Outstanding == 0, $"all buffers are back (out at the end of the tests: {missing})");
    }
}
