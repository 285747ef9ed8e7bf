using System.Runtime.CompilerServices;
using Tunnel2.Http1;
using Tunnel2.Multiplexing.Buffers;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Multiplexing.Transports;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Headers;

namespace Tunnel2.Client.Core.Exchanges;

/// <summary>How a request's body got to the backend.</summary>
internal enum RequestPumpEnd
{
    /// <summary>Whole.</summary>
    Complete,

    /// <summary>The visitor's side cut it short, or broke its framing: the backend must never take it for complete.</summary>
    VisitorFailed,

    /// <summary>The backend stopped reading; it may still answer.</summary>
    BackendClosed,
}

/// <summary>Moves a request's body from its stream to the backend. Credit returns to the visitor when the bytes were sent.</summary>
internal static class RequestPump
{
    /// <summary>Room in front of a chunk's bytes and after them.</summary>
    private const int ChunkBuffer = 16 * 1024;

    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    public static async ValueTask<RequestPumpEnd> RunAsync(
        TunnelStream stream, IByteTransport backend, RequestFraming framing, long remaining, BufferPool buffers, ExchangeCounters counters)
    {
        byte[]? chunk = null;
        try
        {
            while (true)
            {
                await stream.WaitToReadAsync().ConfigureAwait(false);
                stream.TryRead(out var item);
                switch (item.Kind)
                {
                    case StreamItemKind.Data when framing == RequestFraming.Chunked:
                        chunk ??= buffers.Rent(ChunkBuffer);
                        var taken = WriteChunk(chunk, item.Memory.Span, out var start, out var length);
                        counters.Capture?.OnRequestBody(item.Memory.Span[..taken]);
                        await backend.SendAsync(chunk.AsMemory(start, length)).ConfigureAwait(false);
                        counters.RequestBytes += taken;
                        stream.ConsumeData(taken);
                        break;
                    case StreamItemKind.Data:
                        remaining -= item.Memory.Length;
                        if (framing == RequestFraming.Length && remaining < 0)
                        {
                            return CutOff(stream, backend);
                        }

                        // Before they are sent: the answer to a message must not be shown above it.
                        counters.Capture?.OnRequestBody(item.Memory.Span);
                        await backend.SendAsync(item.Memory).ConfigureAwait(false);
                        counters.RequestBytes += item.Memory.Length;
                        stream.ConsumeData(item.Memory.Length);
                        break;
                    case StreamItemKind.Head:
                        chunk ??= buffers.Rent(ChunkBuffer);
                        if (framing == RequestFraming.Chunked)
                        {
                            if (!TryWriteTrailers(item.Memory.Span, ref chunk, buffers, out var trailers))
                            {
                                return CutOff(stream, backend);
                            }

                            await backend.SendAsync(chunk.AsMemory(0, trailers)).ConfigureAwait(false);
                            counters.Capture?.OnRequestTrailers(item.Memory.Span);
                            counters.Capture?.OnRequestEnded();
                            stream.ConsumeHead();
                            return RequestPumpEnd.Complete;
                        }

                        // A request whose length was declared has no place for trailers in HTTP/1.1.
                        counters.Capture?.OnRequestTrailers(item.Memory.Span);
                        stream.ConsumeHead();
                        break;
                    case StreamItemKind.End:
                        if (framing == RequestFraming.Length && remaining != 0)
                        {
                            return CutOff(stream, backend);
                        }

                        if (framing == RequestFraming.Chunked)
                        {
                            chunk ??= buffers.Rent(ChunkBuffer);
                            ChunkedEncoder.LastChunk.CopyTo(chunk);
                            await backend.SendAsync(chunk.AsMemory(0, ChunkedEncoder.LastChunk.Length)).ConfigureAwait(false);
                        }
                        else if (framing == RequestFraming.Raw)
                        {
                            backend.ShutdownSend();
                        }

                        counters.Capture?.OnRequestEnded();
                        return RequestPumpEnd.Complete;
                    default:
                        return RequestPumpEnd.VisitorFailed;
                }
            }
        }
        catch (IOException)
        {
            return stream.Failure.IsNone ? RequestPumpEnd.BackendClosed : RequestPumpEnd.VisitorFailed;
        }
        finally
        {
            if (chunk is not null)
            {
                buffers.Return(chunk);
            }
        }
    }

    /// <summary>
    /// The body is not what was declared, or trailers break the rule: the backend must not wait for the rest of it, nor ProxyEntry for an
    /// answer.
    /// </summary>
    private static RequestPumpEnd CutOff(TunnelStream stream, IByteTransport backend)
    {
        stream.Reset(StreamResetReason.VisitorProtocol);
        backend.Abort();
        return RequestPumpEnd.VisitorFailed;
    }

    private static int WriteChunk(byte[] buffer, ReadOnlySpan<byte> data, out int start, out int length)
    {
        var taken = Math.Min(data.Length, ChunkBuffer - ChunkedEncoder.MaxHeaderBytes - ChunkedEncoder.TrailingBytes);
        data[..taken].CopyTo(buffer.AsSpan(ChunkedEncoder.MaxHeaderBytes));
        var header = ChunkedEncoder.WriteHeaderBefore(buffer.AsSpan(0, ChunkedEncoder.MaxHeaderBytes), taken);
        ChunkedEncoder.DataEnd.CopyTo(buffer.AsSpan(ChunkedEncoder.MaxHeaderBytes + taken));
        start = ChunkedEncoder.MaxHeaderBytes - header;
        length = header + taken + ChunkedEncoder.TrailingBytes;
        return taken;
    }

    /// <summary>Writes the last chunk and the trailers that pass.</summary>
    /// <returns>False when a trailer is not legal in HTTP, or could be taken for a field that frames or routes the request.</returns>
    private static bool TryWriteTrailers(ReadOnlySpan<byte> blockBytes, ref byte[] buffer, BufferPool buffers, out int length)
    {
        HeaderBlock.TryRead(blockBytes, out var block);
        var needed = ChunkedEncoder.LastChunk.Length + blockBytes.Length + (block.Fields.Count * 4);
        if (buffer.Length < needed)
        {
            buffers.Return(buffer);
            buffer = buffers.Rent(needed);
        }

        length = 0;
        var writer = new HeadWriter(buffer);
        writer.WriteCheckedLines(ChunkedEncoder.LastChunkBeforeTrailers);
        foreach (var field in block.Fields)
        {
            switch (FieldRules.OfTrailer(KnownFields.Classify(field.Name), field.Name))
            {
                case FieldRule.Pass:
                    writer.WriteField(field.Name, field.Value);
                    break;
                case FieldRule.Refuse:
                    return false;
                default:
                    break;
            }
        }

        var status = writer.WriteEnd();
        length = writer.Written;
        return status == HeadWriteStatus.Ok;
    }
}
