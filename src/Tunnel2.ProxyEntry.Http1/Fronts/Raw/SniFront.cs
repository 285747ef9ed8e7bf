using System.Buffers;
using System.Collections.Concurrent;
using System.IO.Pipelines;
using Microsoft.AspNetCore.Connections;
using Tunnel2.Multiplexing.Buffers;
using Tunnel2.Protocol.Handshake;
using Tunnel2.ProxyEntry.Agents;
using Tunnel2.ProxyEntry.Cluster;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Connections;
using Tunnel2.ProxyEntry.Fronts.Http1;
using Tunnel2.ProxyEntry.Routing;
using Tunnel2.ProxyEntry.Sessions;
using Tunnel2.Transport.Tls;

namespace Tunnel2.ProxyEntry.Fronts.Raw;

/// <summary>
/// Passes connections of TLS to the tunnel whose name their ClientHello says, without opening them: on a listener of their own, and beside
/// HTTPS. The first flight is only looked at, so the service gets every byte of it. Thread-safe.
/// </summary>
internal sealed class SniFront
{
    /// <summary>How many names are remembered at most whose agents are away.</summary>
    private const int MaxRemembered = 10_000;

    /// <summary>How many bytes of a refused visitor are dropped at most.</summary>
    private const long MaxDropped = 256 * 1024;

    /// <summary>How long a visitor may take for its first flight, as in Kestrel's own handshakes.</summary>
    private static readonly TimeSpan _limit = TimeSpan.FromSeconds(10);

    /// <summary>How long a refused visitor may take to leave.</summary>
    private static readonly TimeSpan _linger = TimeSpan.FromSeconds(1);

    private readonly RawFront _front;
    private readonly ProxyEntrySettings _settings;
    private readonly ISessionDirectory _directory;
    private readonly IForeignTunnels? _foreign;
    private readonly ISessionLocator? _locator;
    private readonly HostAddressParser _hosts;
    private readonly TimeProvider _timeProvider;
    private readonly ConcurrentDictionary<string, bool> _names = new(StringComparer.Ordinal);
    private readonly ConcurrentDictionary<string, bool>.AlternateLookup<ReadOnlySpan<char>> _lookup;
    private volatile bool _hasNames;

    public SniFront(
        RawFront front, ProxyEntrySettings settings, ISessionDirectory directory, TimeProvider timeProvider,
        IForeignTunnels? foreign = null, ISessionLocator? locator = null)
    {
        _foreign = foreign;
        _locator = locator;
        _front = front;
        _settings = settings;
        _directory = directory;
        _timeProvider = timeProvider;
        _hosts = new HostAddressParser(settings.Domain, settings.EntryId);
        _lookup = _names.GetAlternateLookup<ReadOnlySpan<char>>();
        directory.Registered += OnRegistered;
    }

    /// <summary>Serves a connection of the HTTPS listener: a tunnel of TLS gets it, or HTTPS does, unchanged.</summary>
    public Task ServeAsync(ConnectionContext connection, ConnectionDelegate next) =>
        _hasNames || _foreign is { HasTls: true } ? ChooseAsync(connection, next) : next(connection);

    /// <summary>Serves a connection of a listener that has only tunnels of TLS.</summary>
    public async Task ServeAloneAsync(VisitorTransport transport)
    {
        var (status, host) = await LookAsync(transport.Input).ConfigureAwait(false);
        if (host is not null && IsOurs(host))
        {
            await _front.ServeAsync(transport, Target(transport, host)).ConfigureAwait(false);
            return;
        }

        if (status is ClientHelloStatus.NeedMore)
        {
            // Gone, or too slow to be a client.
            transport.Abort();
            return;
        }

        var alert = status is ClientHelloStatus.Named or ClientHelloStatus.Unnamed ? TlsAlerts.UnrecognizedName : TlsAlerts.DecodeError;
        if (await transport.Output.SendAsync(alert).ConfigureAwait(false) && await transport.Output.EndAsync().ConfigureAwait(false))
        {
            await DropRestAsync(transport.Input).ConfigureAwait(false);
        }

        transport.Output.Release();
        await transport.OutputPipe.CompleteAsync().ConfigureAwait(false);
        await transport.Input.CompleteAsync().ConfigureAwait(false);
    }

    private async Task ChooseAsync(ConnectionContext connection, ConnectionDelegate next)
    {
        var (status, host) = await LookAsync(connection.Transport.Input).ConfigureAwait(false);
        if (status == ClientHelloStatus.NeedMore)
        {
            connection.Abort(new ConnectionAbortedException("The ClientHello did not come in time."));
            return;
        }

        if (host is null || !IsOurs(host))
        {
            await next(connection).ConfigureAwait(false);
            return;
        }

        // Not one of those that wait for a request.
        var activity = connection.Features.Get<ConnectionActivity>();
        activity?.RequestBegan();
        var transport = VisitorTransport.Of(connection, BufferPool.Shared);
        await _front.ServeAsync(transport, Target(transport, host)).ConfigureAwait(false);
        activity?.RequestEnded();
    }

    private static RawTarget Target(VisitorTransport transport, string host) => new(SessionKind.Tls, host, transport.LocalPort);

    /// <summary>Whether a host is the name of a tunnel of TLS, also of one whose agent is away.</summary>
    private bool IsOurs(string host)
    {
        Span<char> name = stackalloc char[DomainName.MaxLength];
        return _hosts.Parse(host, name, out var length) switch
        {
            HostAddressOutcome.Name => IsTls(name[..length]),
            HostAddressOutcome.NotOurDomain => _hosts.TryReadDomain(host, name, out length) && IsOurDomain(name[..length]),
            _ => false,
        };
    }

    /// <summary>A domain of its own counts before the wildcard above it, for any protocol inside.</summary>
    private bool IsOurDomain(Span<char> domain)
    {
        if (IsTls(domain))
        {
            return true;
        }

        return _directory.Find(domain, out _) == NameState.Unknown
            && _locator?.TryLocate(domain, out _) != true
            && DomainName.ToWildcard(domain) is { IsEmpty: false } wildcard
            && IsTls(wildcard);
    }

    /// <summary>
    /// Whether a name is that of a tunnel of TLS, here or at another node. One that was here may have come to another node as one of HTTP.
    /// </summary>
    private bool IsTls(ReadOnlySpan<char> name) => _foreign?.IsTls(name) == true
        || (_lookup.ContainsKey(name)
            && (_locator?.TryLocate(name, out _) != true || _directory.Find(name, out _) == NameState.Online));

    /// <summary>Takes what still comes, for a moment: a close with unread bytes is a reset, which may overtake the alert.</summary>
    private async ValueTask DropRestAsync(PipeReader input)
    {
        using var limit = new CancellationTokenSource(_linger, _timeProvider);
        try
        {
            for (var dropped = 0L; dropped < MaxDropped;)
            {
                var read = await input.ReadAsync(limit.Token).ConfigureAwait(false);
                dropped += read.Buffer.Length;
                input.AdvanceTo(read.Buffer.End);
                if (read.IsCompleted)
                {
                    return;
                }
            }
        }
        catch (Exception exception) when (exception is IOException or OperationCanceledException)
        {
            // The visitor is gone, or stays although it was refused.
        }
    }

    /// <summary>Looks at the first flight; afterwards the next reader gets all of it.</summary>
    /// <returns>
    /// The status, <see cref="ClientHelloStatus.NeedMore"/> if the flight did not come to its end; and the host, if it is one.
    /// </returns>
    private async ValueTask<(ClientHelloStatus Status, string? Host)> LookAsync(PipeReader input)
    {
        using var limit = new CancellationTokenSource(_limit, _timeProvider);
        var needed = 1;
        try
        {
            while (true)
            {
                var read = await input.ReadAsync(limit.Token).ConfigureAwait(false);
                var buffer = read.Buffer;
                if (buffer.Length >= needed || read.IsCompleted)
                {
                    var status = Read(buffer, out var host, out needed);
                    if (status != ClientHelloStatus.NeedMore || read.IsCompleted)
                    {
                        input.AdvanceTo(buffer.Start);
                        return (status, host);
                    }
                }

                input.AdvanceTo(buffer.Start, buffer.End);
            }
        }
        catch (Exception exception) when (exception is IOException or OperationCanceledException)
        {
            return (ClientHelloStatus.NeedMore, null);
        }
    }

    private static ClientHelloStatus Read(in ReadOnlySequence<byte> buffer, out string? host, out int needed)
    {
        host = null;
        var bytes = buffer.IsSingleSegment ? buffer.FirstSpan : buffer.ToArray();
        var status = ClientHelloReader.Read(bytes, out var name, out needed);
        if (status == ClientHelloStatus.Named && name.Length <= LongestHost && !name.ContainsAnyExceptInRange((byte)'!', (byte)'~'))
        {
            host = System.Text.Encoding.ASCII.GetString(name);
        }

        return status;
    }

    /// <summary>A DNS name with the dot of the root.</summary>
    private const int LongestHost = 254;

    private void OnRegistered(EntrySession session)
    {
        if (session.Kind != SessionKind.Tls)
        {
            if (_hasNames)
            {
                _names.TryRemove(session.Name, out _);
            }

            return;
        }

        if (_names.Count >= MaxRemembered)
        {
            foreach (var (name, _) in _names)
            {
                if (_directory.Find(name, out _) != NameState.Online)
                {
                    _names.TryRemove(name, out _);
                }
            }
        }

        _names[session.Name] = true;
        _hasNames = true;
    }
}
