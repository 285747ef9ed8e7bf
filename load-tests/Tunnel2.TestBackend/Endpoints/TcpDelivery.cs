using System.Diagnostics;
using System.Net.Sockets;

namespace Tunnel2.TestBackend.Endpoints;

/// <summary>What the kernel knows about the delivery of a connection's bytes (Linux: TCP_INFO).</summary>
internal readonly struct TcpDelivery(Socket? socket)
{
    private const int IpProtoTcp = 6;
    private const int TcpInfo = 11;
    private const int UnacknowledgedOffset = 24;
    private const int BytesAcknowledgedOffset = 120;
    private const int NotSentOffset = 144;
    private const int NeededLength = 148;

    /// <summary>How many bytes the peer has acknowledged since the connection began; null if the kernel does not say.</summary>
    public long? AcknowledgedBytes => Read() is (true, var acknowledged, _) ? acknowledged : null;

    /// <summary>Waits until the peer has acknowledged <paramref name="total"/> bytes.</summary>
    public async Task WaitForAcknowledgedAsync(long total, TimeSpan interval, CancellationToken cancellationToken)
    {
        using var timer = new PeriodicTimer(interval);
        while (Read() is (true, var acknowledged, _) && acknowledged < total)
        {
            await timer.WaitForNextTickAsync(cancellationToken);
        }
    }

    /// <summary>
    /// Waits until nothing was in the kernel's send queue for <paramref name="quietTime"/>; where the kernel does not say, just that time.
    /// </summary>
    public async Task WaitForQuietAsync(TimeSpan quietTime, TimeSpan interval, CancellationToken cancellationToken)
    {
        using var timer = new PeriodicTimer(interval);
        var quietSince = Stopwatch.GetTimestamp();
        var last = -1L;
        while (Stopwatch.GetElapsedTime(quietSince) < quietTime)
        {
            await timer.WaitForNextTickAsync(cancellationToken);
            if (Read() is (true, var acknowledged, var queued) && (queued || acknowledged != last))
            {
                last = acknowledged;
                quietSince = Stopwatch.GetTimestamp();
            }
        }
    }

    private (bool Known, long Acknowledged, bool Queued) Read()
    {
        if (socket is null || !OperatingSystem.IsLinux())
        {
            return default;
        }

        Span<byte> info = stackalloc byte[256];
        try
        {
            if (socket.GetRawSocketOption(IpProtoTcp, TcpInfo, info) < NeededLength)
            {
                return default;
            }
        }
        catch (Exception e) when (e is SocketException or ObjectDisposedException)
        {
            return default;
        }

        var acknowledged = BitConverter.ToInt64(info[BytesAcknowledgedOffset..]);
        var queued = BitConverter.ToInt32(info[UnacknowledgedOffset..]) > 0 || BitConverter.ToInt32(info[NotSentOffset..]) > 0;
        return (true, acknowledged, queued);
    }
}
