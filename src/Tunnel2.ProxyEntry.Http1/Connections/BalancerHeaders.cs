using System.Buffers;
using System.Net;
using Microsoft.AspNetCore.Connections;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Diagnostics;
using Tunnel2.Transport.ProxyHeaders;

namespace Tunnel2.ProxyEntry.Connections;

/// <summary>
/// Takes the header of the PROXY protocol off connections that come from trusted balancers, and gives the connection the addresses in it.
/// Each of their connections must begin with one. No header of another peer is read: to HTTP and TLS it is bad input. Thread-safe.
/// </summary>
internal sealed class BalancerHeaders
{
    /// <summary>How long a balancer may take for the header, which it sends with the first bytes.</summary>
    private static readonly TimeSpan _limit = TimeSpan.FromSeconds(5);

    private readonly TrustedProxySet? _balancers;
    private readonly TimeProvider _timeProvider;
    private readonly OncePerSecond _lines;
    private readonly ILogger _logger;

    public BalancerHeaders(ProxyEntrySettings settings, TimeProvider timeProvider, ILogger<BalancerHeaders> logger)
    {
        _balancers = settings.ProxyProtocol ? settings.TrustedProxies : null;
        _timeProvider = timeProvider;
        _lines = new OncePerSecond(timeProvider);
        _logger = logger;
    }

    /// <summary>Whether a connection begins with a header that was not taken yet.</summary>
    public bool IsExpectedOf(ConnectionContext connection) =>
        _balancers is not null
        && _balancers.Contains((connection.RemoteEndPoint as IPEndPoint)?.Address)
        && connection.Features.Get<Taken>() is null;

    /// <summary>The middleware.</summary>
    public ConnectionDelegate Use(ConnectionDelegate next) => connection =>
        IsExpectedOf(connection) ? TakeAndContinueAsync(connection, next) : next(connection);

    /// <summary>Takes the header off.</summary>
    /// <returns>False when there is none: the connection was aborted.</returns>
    public async ValueTask<bool> TryTakeAsync(ConnectionContext connection)
    {
        var input = connection.Transport.Input;
        using var limit = new CancellationTokenSource(_limit, _timeProvider);
        try
        {
            while (true)
            {
                var read = await input.ReadAsync(limit.Token).ConfigureAwait(false);
                var status = Read(read.Buffer, out var length, out var source, out var destination);
                if (status == ProxyHeaderStatus.Done)
                {
                    input.AdvanceTo(read.Buffer.GetPosition(length));
                    connection.RemoteEndPoint = source ?? connection.RemoteEndPoint;
                    connection.LocalEndPoint = destination ?? connection.LocalEndPoint;
                    connection.Features.Set(Taken.Instance);
                    return true;
                }

                input.AdvanceTo(read.Buffer.Start, read.Buffer.End);
                if (status == ProxyHeaderStatus.Invalid || read.IsCompleted)
                {
                    break;
                }
            }
        }
        catch (Exception exception) when (exception is IOException or OperationCanceledException)
        {
            // Gone, or too slow.
        }

        if (_lines.MayLog())
        {
            ProxyEntryLog.BalancerHeaderMissing(_logger, (connection.RemoteEndPoint as IPEndPoint)?.Address);
        }

        connection.Abort(new ConnectionAbortedException("No header of the PROXY protocol."));
        return false;
    }

    private static ProxyHeaderStatus Read(
        in ReadOnlySequence<byte> buffer, out int length, out IPEndPoint? source, out IPEndPoint? destination)
    {
        if (buffer.IsSingleSegment)
        {
            return ProxyHeader.Read(buffer.FirstSpan, out length, out source, out destination);
        }

        Span<byte> bytes = stackalloc byte[ProxyHeader.MaxLength];
        var start = buffer.Slice(0, Math.Min(buffer.Length, bytes.Length));
        start.CopyTo(bytes);
        return ProxyHeader.Read(bytes[..(int)start.Length], out length, out source, out destination);
    }

    private async Task TakeAndContinueAsync(ConnectionContext connection, ConnectionDelegate next)
    {
        if (await TryTakeAsync(connection).ConfigureAwait(false))
        {
            await next(connection).ConfigureAwait(false);
        }
    }

    /// <summary>Marks a connection whose header was taken: the address in it may be a trusted one too.</summary>
    private sealed class Taken
    {
        public static Taken Instance { get; } = new();
    }
}
