using System.Globalization;
using System.Net.Sockets;
using System.Text;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Console;

namespace Tunnel2.Quickstart;

/// <summary>The text that the user sees when the tunnel is ready.</summary>
internal static class QuickstartText
{
    private static readonly TimeSpan _probeLimit = TimeSpan.FromSeconds(1);

    public static async Task<string> DescribeAsync(QuickstartTunnel tunnel, BackendTarget backend, bool isSample, CancellationToken stop)
    {
        var url = tunnel.PublicUrl.GetLeftPart(UriPartial.Authority);
        var curl = await NameResolution.ResolvesAsync(tunnel.PublicUrl.Host, stop).ConfigureAwait(false)
            ? url
            : string.Create(CultureInfo.InvariantCulture, $"-H 'Host: {tunnel.PublicUrl.Host}' http://127.0.0.1:{tunnel.PublicUrl.Port}");
        var text = new StringBuilder();
        text.Append("Tunnel2 runs in this process: ProxyEntry")
            .Append(isSample ? ", an agent and a sample service" : " and an agent")
            .Append(".\n\n");
        text.Append("  Public URL   ").Append(url).Append('\n');
        text.Append("  Service      ").Append(backend).Append(await StateAsync(backend, stop).ConfigureAwait(false)).Append('\n');
        text.Append("  Dashboard    http://").Append(tunnel.Entry.AdminEndPoint).Append("/\n");
        text.Append("  Health       http://").Append(tunnel.Entry.AdminEndPoint).Append("/health/ready\n");
        text.Append("  Metrics      http://").Append(tunnel.Entry.AdminEndPoint).Append("/metrics\n\n");
        text.Append("Try: the public URL in a browser\n");
        text.Append("     curl ").Append(curl).Append("/\n");
        if (isSample)
        {
            text.Append("     curl -N ").Append(curl).Append("/events\n");
            text.Append("     curl -d hello ").Append(curl).Append("/echo\n");
            text.Append("     your own service: dotnet run -c Release --project src/Tunnel2.Quickstart -- 3000\n");
        }

        return text.Append("\nCtrl+C stops it. Requests:\n").ToString();
    }

    /// <summary>A service that does not run yet is not a mistake: requests get 502 until it runs. The text says so at once.</summary>
    private static async Task<string> StateAsync(BackendTarget backend, CancellationToken stop)
    {
        using var limit = CancellationTokenSource.CreateLinkedTokenSource(stop);
        limit.CancelAfter(_probeLimit);
        try
        {
            using var client = new TcpClient();
            await client.ConnectAsync(backend.Host, backend.Port, limit.Token).ConfigureAwait(false);
            return "";
        }
        catch (Exception exception) when (exception is SocketException or OperationCanceledException)
        {
            return " (nothing answers there yet)";
        }
    }
}
