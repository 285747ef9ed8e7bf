using Grpc.Core;
using Tunnel2.FunctionalTests.Grpc;

namespace Tunnel2.GrpcLoad;

/// <summary>Sends messages back, and without an end where the client only reads.</summary>
internal sealed class LoadService : GrpcEchoBase
{
    /// <inheritdoc/>
    public override Task<byte[]> Unary(byte[] request, ServerCallContext context) => Task.FromResult(request);

    /// <inheritdoc/>
    public override async Task Down(byte[] request, IServerStreamWriter<byte[]> responses, ServerCallContext context)
    {
        while (!context.CancellationToken.IsCancellationRequested)
        {
            await responses.WriteAsync(request).ConfigureAwait(false);
        }
    }

    /// <inheritdoc/>
    public override async Task<byte[]> Up(IAsyncStreamReader<byte[]> requests, ServerCallContext context)
    {
        while (await requests.MoveNext().ConfigureAwait(false))
        {
            // Only read.
        }

        return [];
    }

    /// <inheritdoc/>
    public override async Task Both(IAsyncStreamReader<byte[]> requests, IServerStreamWriter<byte[]> responses, ServerCallContext context)
    {
        while (await requests.MoveNext().ConfigureAwait(false))
        {
            await responses.WriteAsync(requests.Current).ConfigureAwait(false);
        }
    }
}
