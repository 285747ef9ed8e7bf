using System.IO.Pipelines;
using System.Net.Security;
using System.Runtime.CompilerServices;
using System.Security.Cryptography.X509Certificates;
using Tunnel2.Multiplexing.Transports;
using Tunnel2.Multiplexing.Uplinks;

namespace Tunnel2.Transport.Tls;

/// <summary>
/// The bytes of an uplink or of a connection to a backend over TLS, after the handshake. Decrypted bytes go directly into the reader's
/// buffer. A batch of the writer becomes records of up to 16 KiB, which leave in as few sends as possible. It continues where the transport
/// below it does.
/// </summary>
internal sealed class TlsTransport : IUplinkTransport
{
    /// <summary>The payload of one record (RFC 8446 section 5.1); several records are gathered.</summary>
    private const int RecordLength = 16 * 1024;

    private readonly IByteTransport _transport;
    private readonly TlsByteStream _bytes;
    private readonly SslStream _tls;
    private Task _shutdown = Task.CompletedTask;

    /// <summary>Takes over a connection after its handshake.</summary>
    /// <param name="transport">The transport of the encrypted bytes.</param>
    /// <param name="bytes">The stream over it.</param>
    /// <param name="tls">TLS over that.</param>
    public TlsTransport(IByteTransport transport, TlsByteStream bytes, SslStream tls)
    {
        _transport = transport;
        _bytes = bytes;
        _tls = tls;
    }

    /// <inheritdoc/>
    public string RemoteName => (_transport as IUplinkTransport)?.RemoteName ?? "";

    /// <inheritdoc/>
    public long RetransmittedSegments => (_transport as IUplinkTransport)?.RetransmittedSegments ?? 0;

    /// <inheritdoc/>
    public PipeScheduler? Home => _transport.Home;

    /// <inheritdoc/>
    public bool TryMoveTo(PipeScheduler home) => _transport.TryMoveTo(home);

    /// <summary>The peer's certificate, or null when it sent none.</summary>
    public X509Certificate2? RemoteCertificate => _tls.RemoteCertificate as X509Certificate2;

    /// <summary>What the peers have agreed on by ALPN; the default value where they have not.</summary>
    public SslApplicationProtocol ApplicationProtocol => _tls.NegotiatedApplicationProtocol;

    /// <inheritdoc/>
    public ValueTask<int> ReceiveAsync(Memory<byte> buffer)
    {
        ValueTask<int> read;
        try
        {
            read = _tls.ReadAsync(buffer);
        }
        catch (Exception exception) when (IsEnd(exception))
        {
            return ValueTask.FromException<int>(Aborted(exception));
        }

        return read.IsCompletedSuccessfully ? read : AwaitReadAsync(read);
    }

    /// <inheritdoc/>
    public ValueTask SendAsync(ReadOnlyMemory<byte> buffer)
    {
        if (buffer.Length > RecordLength)
        {
            return SendRecordsAsync(buffer);
        }

        ValueTask write;
        try
        {
            write = _tls.WriteAsync(buffer);
        }
        catch (Exception exception) when (IsEnd(exception))
        {
            return ValueTask.FromException(Aborted(exception));
        }

        return write.IsCompletedSuccessfully ? write : AwaitWriteAsync(write);
    }

    /// <inheritdoc/>
    public void ShutdownSend() => _shutdown = ShutdownAsync();

    /// <inheritdoc/>
    /// <remarks>
    /// The pending wait handles TLS's own records (a session ticket, new keys) and continues. Bytes that it has not read yet may be of any
    /// kind.
    /// </remarks>
    public bool IsIdleAndOpen() => _transport.IsIdleAndOpen();

    /// <inheritdoc/>
    public bool WasIdleAndOpen() => _transport.WasIdleAndOpen();

    /// <inheritdoc/>
    public bool HasBytes()
    {
        // After a wait that has ended this completes at once: with a byte of the peer, or with the end (close_notify).
        var read = ReadOneAsync();
        return read.IsCompletedSuccessfully && read.Result > 0;
    }

    /// <inheritdoc/>
    public void Abort() => _transport.Abort();

    /// <inheritdoc/>
    public void Discard() => _transport.Discard();

    /// <inheritdoc/>
    public async ValueTask DisposeAsync()
    {
        Abort();
        await _shutdown.ConfigureAwait(false);
        await _tls.DisposeAsync().ConfigureAwait(false);
        _bytes.ReturnBuffer();
        await _transport.DisposeAsync().ConfigureAwait(false);
    }

    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    private static async ValueTask<int> AwaitReadAsync(ValueTask<int> read)
    {
        try
        {
            return await read.ConfigureAwait(false);
        }
        catch (Exception exception) when (IsEnd(exception))
        {
            throw Aborted(exception);
        }
    }

    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder))]
    private static async ValueTask AwaitWriteAsync(ValueTask write)
    {
        try
        {
            await write.ConfigureAwait(false);
        }
        catch (Exception exception) when (IsEnd(exception))
        {
            throw Aborted(exception);
        }
    }

    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder))]
    private async ValueTask SendRecordsAsync(ReadOnlyMemory<byte> buffer)
    {
        try
        {
            _bytes.BeginGathering();
            await _tls.WriteAsync(buffer).ConfigureAwait(false);
            await _bytes.SendGatheredAsync().ConfigureAwait(false);
        }
        catch (Exception exception) when (IsEnd(exception))
        {
            throw Aborted(exception);
        }
        finally
        {
            _bytes.EndGathering();
        }
    }

    private async Task<int> ReadOneAsync()
    {
        try
        {
            return await _tls.ReadAsync(new byte[1]).ConfigureAwait(false);
        }
        catch (Exception exception) when (exception is IOException || IsEnd(exception))
        {
            return 0;
        }
    }

    /// <summary>Sends close_notify, which shows the peer that nothing was cut off, and then ends the connection.</summary>
    private async Task ShutdownAsync()
    {
        try
        {
            await _tls.ShutdownAsync().ConfigureAwait(false);
        }
        catch (Exception exception) when (exception is IOException || IsEnd(exception))
        {
            // The connection has already gone, which is the purpose of this call.
        }

        _transport.ShutdownSend();
    }

    /// <summary>
    /// Whether SslStream threw because it was disposed of or its connection was aborted (it may throw other exceptions than IOException
    /// then).
    /// </summary>
    private static bool IsEnd(Exception exception) =>
        exception is ObjectDisposedException or InvalidOperationException or NotSupportedException;

    private static IOException Aborted(Exception exception) => new("The connection was aborted.", exception);
}
