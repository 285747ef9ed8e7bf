using System.IO.Pipelines;
using Microsoft.AspNetCore.Http.Features;
using Tunnel2.ProxyEntry.Requests;

namespace Tunnel2.ProxyEntry.Fronts.HttpContexts;

/// <summary>The stream of HTTP/2 after an extended CONNECT, as HttpContext gives it.</summary>
internal sealed class HttpContextUpgrade : UpgradedConnection
{
    private static readonly StreamPipeReaderOptions _options = new(bufferSize: 16 * 1024, useZeroByteReads: true, leaveOpen: true);

    private readonly Stream _stream;
    private readonly IHttpResponseBodyFeature? _response;

    /// <param name="stream">The bytes of both directions.</param>
    /// <param name="response">The response, if it can end our direction alone; otherwise null.</param>
    public HttpContextUpgrade(Stream stream, IHttpResponseBodyFeature? response)
    {
        _stream = stream;
        _response = response;
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
    public override async ValueTask<bool> EndSendAsync()
    {
        if (_response is null)
        {
            return false;
        }

        await _response.CompleteAsync().ConfigureAwait(false);
        return true;
    }
}
