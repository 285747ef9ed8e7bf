using System.Globalization;
using System.Text;
using Tunnel2.Client.Core.Backend;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Multiplexing.Transports;

namespace Tunnel2.Client.Core.Health;

/// <summary>One look at the service: a connection, or a request of HTTP/1.1 on a connection of its own. Thread-safe.</summary>
internal sealed class ServiceProbe
{
    /// <summary>The bytes of a status line up to the end of the status.</summary>
    private const int Enough = 12;

    private readonly HealthCheck _check;
    private readonly BackendConnector _connector;
    private readonly TimeProvider _time;
    private readonly byte[] _request;

    public ServiceProbe(HealthCheck check, BackendTarget target, BackendConnector connector, TimeProvider time)
    {
        _check = check;
        _connector = connector;
        _time = time;
        _request = Encoding.ASCII.GetBytes(
            $"GET {check.Target} HTTP/1.1\r\nHost: {target.HostHeader}\r\nUser-Agent: tunnel2-health\r\nConnection: close\r\n\r\n");
    }

    /// <summary>Looks once.</summary>
    /// <param name="stop">Gives up.</param>
    /// <returns>What is wrong, in a few words; null: the service works.</returns>
    /// <exception cref="OperationCanceledException">Given up.</exception>
    public async Task<string?> LookAsync(CancellationToken stop)
    {
        using var limit = new CancellationTokenSource(_check.Timeout, _time);
        using var giveUp = stop.UnsafeRegister(static limit => ((CancellationTokenSource)limit!).Cancel(), limit);
        var (connection, failure) = await _connector.ConnectAsync(null, limit.Token).ConfigureAwait(false);
        if (connection is null)
        {
            stop.ThrowIfCancellationRequested();
            return limit.IsCancellationRequested ? TooSlow : $"no connection ({failure.Detail})";
        }

        using (connection)
        {
            return _check.IsRequest ? await AskAsync(connection.Transport, limit.Token, stop).ConfigureAwait(false) : null;
        }
    }

    private string TooSlow => string.Create(CultureInfo.InvariantCulture, $"no answer in {_check.Timeout.TotalSeconds:0} s");

    private async Task<string?> AskAsync(IByteTransport transport, CancellationToken limit, CancellationToken stop)
    {
        var answer = new byte[512];
        var filled = 0;
        using var cut = limit.UnsafeRegister(static transport => ((IByteTransport)transport!).Abort(), transport);
        try
        {
            await transport.SendAsync(_request).ConfigureAwait(false);
            int received;
            do
            {
                received = await transport.ReceiveAsync(answer.AsMemory(filled)).ConfigureAwait(false);
                filled += received;
            }
            while (received > 0 && filled < Enough);
        }
        catch (IOException)
        {
            stop.ThrowIfCancellationRequested();
            return limit.IsCancellationRequested ? TooSlow : "the connection broke";
        }

        var text = Encoding.ASCII.GetString(answer, 0, Math.Min(filled, Enough));
        return text.Length < Enough || !text.StartsWith("HTTP/1.", StringComparison.Ordinal)
                || !int.TryParse(text.AsSpan(9, 3), NumberStyles.None, CultureInfo.InvariantCulture, out var status)
            ? "no answer of HTTP/1.1"
            : status is >= 200 and < 400 ? null
            : string.Create(CultureInfo.InvariantCulture, $"status {status}");
    }
}
