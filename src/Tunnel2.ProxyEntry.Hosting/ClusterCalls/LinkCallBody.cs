using System.Text;
using Microsoft.AspNetCore.WebUtilities;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Headers;
using Tunnel2.ProxyEntry.Requests;

namespace Tunnel2.ProxyEntry.ClusterCalls;

/// <summary>
/// The answer to a call of another node, on its stream: the head leaves with the first byte of the body, or at the end. A write waits for
/// the credit of the stream, so that an answer of any size is never in memory. One writer.
/// </summary>
internal sealed class LinkCallBody(VisitorExchange exchange) : Stream
{
    private const int LongestHead = 8 * 1024;

    private bool _isStarted;

    /// <summary>The answer's status and fields.</summary>
    public HttpResponse Response { get; set; } = null!;

    /// <inheritdoc/>
    public override bool CanRead => false;

    /// <inheritdoc/>
    public override bool CanWrite => true;

    /// <inheritdoc/>
    public override bool CanSeek => false;

    /// <inheritdoc/>
    public override long Length => throw new NotSupportedException();

    /// <inheritdoc/>
    public override long Position { get => throw new NotSupportedException(); set => throw new NotSupportedException(); }

    /// <summary>Sends what is left, and the end.</summary>
    public async Task EndAsync()
    {
        Start();
        exchange.CompleteResponse();
        await exchange.FlushAsync().ConfigureAwait(false);
    }

    /// <inheritdoc/>
    public override async ValueTask WriteAsync(ReadOnlyMemory<byte> buffer, CancellationToken cancellationToken = default)
    {
        Start();
        if (!await exchange.SendBodyAsync(buffer).ConfigureAwait(false))
        {
            throw new IOException("The other node has gone.");
        }
    }

    /// <inheritdoc/>
    public override Task WriteAsync(byte[] buffer, int offset, int count, CancellationToken cancellationToken) =>
        WriteAsync(buffer.AsMemory(offset, count), cancellationToken).AsTask();

    /// <inheritdoc/>
    public override Task FlushAsync(CancellationToken cancellationToken) => Task.CompletedTask;

    /// <inheritdoc/>
    public override void Flush()
    {
        // Every write leaves at once.
    }

    /// <inheritdoc/>
    public override int Read(byte[] buffer, int offset, int count) => throw new NotSupportedException();

    /// <inheritdoc/>
    public override void Write(byte[] buffer, int offset, int count) => throw new NotSupportedException();

    /// <inheritdoc/>
    public override long Seek(long offset, SeekOrigin origin) => throw new NotSupportedException();

    /// <inheritdoc/>
    public override void SetLength(long value) => throw new NotSupportedException();

    private void Start()
    {
        if (_isStarted)
        {
            return;
        }

        _isStarted = true;
        var bytes = new byte[LongestHead];
        var writer = new HeaderBlockWriter(bytes);
        writer.BeginResponse(
            HeaderBlockFlags.None, Response.StatusCode, Encoding.ASCII.GetBytes(ReasonPhrases.GetReasonPhrase(Response.StatusCode)));
        foreach (var (name, values) in Response.Headers)
        {
            writer.AddField(name, values.ToString());
        }

        var length = writer.Complete();
        if (writer.Overflowed
            || HeaderBlock.TryRead(bytes.AsSpan(0, length), out var head) != ProtocolError.None
            || !exchange.TryStartResponse(head, declaresLength: Response.ContentLength is not null))
        {
            throw new IOException("The answer's head cannot be sent.");
        }
    }
}
