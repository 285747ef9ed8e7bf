using System.IO.Pipelines;
using Tunnel2.ProxyEntry.Forwarding;

namespace Tunnel2.ProxyEntry.Fronts.HttpContexts;

/// <summary>The connection behind a 101 as HttpContext gives it: a stream that can only be ended as a whole.</summary>
internal sealed class HttpContextUpgrade : UpgradedConnection
{
    private static readonly StreamPipeReaderOptions _options = new(bufferSize: 16 * 1024, useZeroByteReads: true, leaveOpen: true);

    private readonly Stream _stream;

    public HttpContextUpgrade(Stream stream)
    {
        _stream = stream;
        Input = PipeReader.Create(stream, _options);
    }

    /// <inheritdoc/>
    public override PipeReader Input { get; }

    /// <inheritdoc/>
    public override async ValueTask<bool> SendAsync(ReadOnlyMemory<byte> data)
    {
        await _stream.WriteAsync(data).ConfigureAwait(false);
        await _stream.FlushAsync().ConfigureAwait(false);
        return true;
    }

    /// <inheritdoc/>
    public override ValueTask<bool> EndSendAsync() => new(false);
}
