using System.Buffers;
using System.IO.Pipelines;
using System.Text;
using Microsoft.AspNetCore.Connections;
using Tunnel2.ProxyEntry.Https;
using Tunnel2.Transport.Tls;

namespace Tunnel2.ProxyEntry.Acme;

/// <summary>
/// Finds the connections of an authority that checks a name by a handshake for <c>acme-tls/1</c> (RFC 8737). While no such visit is
/// awaited, connections pass without a look. Thread-safe.
/// </summary>
/// <param name="challenges">The visits that are awaited.</param>
/// <param name="time">The clock.</param>
internal sealed class AcmeTlsFront(PendingChallenges challenges, TimeProvider time)
{
    /// <summary>How long a visitor may take for its first flight, as in Kestrel's own handshakes.</summary>
    private static readonly TimeSpan _limit = TimeSpan.FromSeconds(10);

    private const int LongestName = 254;

    /// <summary>Before TLS: marks such a connection.</summary>
    public Task ServeAsync(ConnectionContext connection, ConnectionDelegate next) =>
        challenges.HasTls || challenges.Others is { UsesTls: true } ? LookAsync(connection, next) : next(connection);

    /// <summary>After TLS: such a connection ends, and no byte of it is taken for HTTP.</summary>
    public static Task EndAsync(ConnectionContext connection, ConnectionDelegate next) =>
        connection.Features.Get<AcmeVisit>() is null ? next(connection) : Task.CompletedTask;

    private async Task LookAsync(ConnectionContext connection, ConnectionDelegate next)
    {
        if (await ReadAsync(connection.Transport.Input).ConfigureAwait(false) is { } name
            && await challenges.FindTlsAsync(name).ConfigureAwait(false) is { } certificate)
        {
            connection.Features.Set(new AcmeVisit(certificate));
        }

        await next(connection).ConfigureAwait(false);
    }

    /// <summary>Looks at the first flight; afterwards the next reader gets all of it.</summary>
    /// <returns>The name of a handshake for <c>acme-tls/1</c>; null for all others, and for what is no handshake.</returns>
    private async ValueTask<string?> ReadAsync(PipeReader input)
    {
        using var limit = new CancellationTokenSource(_limit, time);
        var needed = 1;
        try
        {
            while (true)
            {
                var read = await input.ReadAsync(limit.Token).ConfigureAwait(false);
                var buffer = read.Buffer;
                if (buffer.Length >= needed || read.IsCompleted)
                {
                    var status = Read(buffer, out var name, out needed);
                    if (status != ClientHelloStatus.NeedMore || read.IsCompleted)
                    {
                        input.AdvanceTo(buffer.Start);
                        return name;
                    }
                }

                input.AdvanceTo(buffer.Start, buffer.End);
            }
        }
        catch (Exception exception) when (exception is IOException or OperationCanceledException)
        {
            return null;
        }
    }

    private static ClientHelloStatus Read(in ReadOnlySequence<byte> buffer, out string? name, out int needed)
    {
        name = null;
        var bytes = buffer.IsSingleSegment ? buffer.FirstSpan : buffer.ToArray();
        var status = ClientHelloReader.Read(bytes, out var serverName, out var protocols, out needed);
        if (status == ClientHelloStatus.Named && serverName.Length <= LongestName
            && !serverName.ContainsAnyExceptInRange((byte)'!', (byte)'~') && ClientHelloReader.Offers(protocols, "acme-tls/1"u8))
        {
            name = Encoding.ASCII.GetString(serverName).ToLowerInvariant().TrimEnd('.');
        }

        return status;
    }
}
