using System.Buffers;
using System.IO.Pipelines;
using System.Net.Security;
using System.Runtime.CompilerServices;
using Tunnel2.ProxyEntry.Connections;

namespace Tunnel2.ProxyEntry.Fronts.Http1.Output;

/// <summary>Sends through the connection's own pipe: for TLS, and for transports that expose no socket.</summary>
internal sealed class PipeOutput : VisitorOutput
{
    private readonly PipeWriter _writer;
    private readonly SslStream? _tls;
    private readonly bool _endsByCompletion;
    private readonly IVisitorLinkFeature? _link;
    private bool _hasEnded;

    /// <summary>Takes over the sending side of a connection.</summary>
    /// <param name="writer">The pipe.</param>
    /// <param name="tls">The TLS stream to which the pipe writes, or null: it can end one direction.</param>
    /// <param name="endsByCompletion">Whether completing the pipe ends one direction for the peer and leaves the other open.</param>
    /// <param name="link">Reports that the connection is lost if the pipe does not, as with TLS.</param>
    public PipeOutput(PipeWriter writer, SslStream? tls, bool endsByCompletion = false, IVisitorLinkFeature? link = null)
    {
        _link = link;
        _writer = writer;
        _tls = tls;
        _endsByCompletion = endsByCompletion;
    }

    /// <inheritdoc/>
    public override Span<byte> GetSpan(int size) => _writer.GetSpan(size);

    /// <inheritdoc/>
    public override void Advance(int count) => _writer.Advance(count);

    /// <inheritdoc/>
    public override void Write(ReadOnlySpan<byte> data) => _writer.Write(data);

    /// <inheritdoc/>
    public override ValueTask<bool> FlushAsync()
    {
        if (_hasEnded)
        {
            return new ValueTask<bool>(false);
        }

        if (_writer.CanGetUnflushedBytes && _writer.UnflushedBytes == 0)
        {
            return new ValueTask<bool>(true);
        }

        return AwaitAsync(_writer.FlushAsync());
    }

    /// <inheritdoc/>
    public override ValueTask<bool> SendAsync(ReadOnlyMemory<byte> data) => AwaitAsync(_writer.WriteAsync(data));

    /// <inheritdoc/>
    public override async ValueTask<bool> EndAsync()
    {
        if (_tls is null && !_endsByCompletion)
        {
            return false;
        }

        try
        {
            if (!await FlushAsync().ConfigureAwait(false))
            {
                return false;
            }

            _hasEnded = true;
            if (_tls is null)
            {
                await _writer.CompleteAsync().ConfigureAwait(false);
                return true;
            }

            await _tls.ShutdownAsync().ConfigureAwait(false);
            return true;
        }
        catch (Exception exception) when (exception is IOException or InvalidOperationException)
        {
            return false;
        }
    }

    /// <inheritdoc/>
    public override void Release()
    {
        // The pipe's owner completes it.
    }

    private ValueTask<bool> AwaitAsync(ValueTask<FlushResult> flushing) =>
        flushing.IsCompletedSuccessfully ? new ValueTask<bool>(IsThere(flushing.Result)) : SlowAsync(flushing);

    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    private async ValueTask<bool> SlowAsync(ValueTask<FlushResult> flushing)
    {
        try
        {
            return IsThere(await flushing.ConfigureAwait(false));
        }
        catch (Exception exception) when (exception is IOException or OperationCanceledException or InvalidOperationException)
        {
            return false;
        }
    }

    private bool IsThere(FlushResult flushed) => !flushed.IsCompleted && !flushed.IsCanceled && _link is not { IsLost: true };
}
