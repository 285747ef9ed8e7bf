using System.Diagnostics;
using System.Globalization;
using System.Text;
using Microsoft.Extensions.Configuration;
using Microsoft.Extensions.Logging;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Hosting;
using Tunnel2.Telemetry.SubscriptionHub;
using Tunnel2.Transport.Engine;
using Tunnel2.Transport.Sockets;

namespace Tunnel2.HubLoad;

/// <summary>
/// The measured process: a whole ProxyEntry, and a thread that publishes on its hub by the clock, whatever becomes of the messages.
/// Commands on standard input: <c>publish CHANNELS RATE SECONDS BURST</c>, <c>counts CHANNELS</c>, <c>stop</c>.
/// </summary>
internal static class HubServer
{
    private const int Pad = 220;

    public static async Task<int> RunAsync(string[] args)
    {
        var settings = SettingsLoader.Load(new ConfigurationBuilder().AddInMemoryCollection(new Dictionary<string, string?>
        {
            ["Tunnel2:Public:HttpListen"] = "127.0.0.1:0",
            ["Tunnel2:Uplink:Listen"] = "127.0.0.1:0",
            ["Tunnel2:Admin:Listen"] = "127.0.0.1:0",
            ["Tunnel2:EntryId"] = "load",
            ["Tunnel2:Hub:MaxConnections"] = LoadRun.MostSubscribers(OpenFiles.Limit()).ToString(CultureInfo.InvariantCulture),
        }).Build());
        using var engine = EngineSetup.Start(EngineMode.Auto, loops: 1);
        await using var host = await ProxyEntryHost.StartAsync(
            settings.Settings!, engine, logging => logging.SetMinimumLevel(LogLevel.Error));
        Console.WriteLine(string.Create(CultureInfo.InvariantCulture, $"ready {host.AdminEndPoint.Port} {args.Length}"));
        Hub hub = host.Live.Hub!;
        while (Console.ReadLine() is { } line)
        {
            string[] words = line.Split(' ');
            switch (words[0])
            {
                case "publish":
                    int[] numbers = [.. words[1..].Select(word => int.Parse(word, CultureInfo.InvariantCulture))];
                    await Task.Run(() => Publish(hub, numbers[0], numbers[1], numbers[2], numbers[3]));
                    break;
                case "counts":
                    Channels(hub, int.Parse(words[1], CultureInfo.InvariantCulture));
                    break;
                case "create":
                    Channels(hub, int.Parse(words[1], CultureInfo.InvariantCulture));
                    break;
                default:
                    return 0;
            }

            Console.WriteLine(
                string.Join(
                    ' ',
                    [
                        "done",
                        hub.Connections.ToString(CultureInfo.InvariantCulture),
                        .. words[0] == "create" ? [] : Counts(hub, words[1]),
                    ]));
        }

        return 0;
    }

    private static IEnumerable<string> Counts(Hub hub, string channels) =>
        Channels(hub, int.Parse(channels, CultureInfo.InvariantCulture)).Select(
            channel => channel.SequenceUnsynchronized.ToString(CultureInfo.InvariantCulture));

    private static HubChannel[] Channels(Hub hub, int count) => [.. Enumerable.Range(0, count).Select(i => hub.GetChannel($"load.{i}"))];

    /// <summary>
    /// Open loop: message n of a channel is due at a time that does not depend on anything before it. In the middle, a burst of 3 s.
    /// </summary>
    private static void Publish(Hub hub, int count, int rate, int seconds, int burst)
    {
        HubChannel[] channels = Channels(hub, count);
        string pad = new('x', Pad);
        long start = Stopwatch.GetTimestamp();
        double due = 0;
        for (int i = 0; due < seconds; i++)
        {
            bool isBurst = burst > 1 && due > seconds / 2.0 && due < (seconds / 2.0) + 3;
            due += 1.0 / (rate * (double)count * (isBurst ? burst : 1));
            long at = start + (long)(due * Stopwatch.Frequency);
            while (at - Stopwatch.GetTimestamp() is > 0 and var left)
            {
                if (left > Stopwatch.Frequency / 500)
                {
                    Thread.Sleep(1);
                }
                else
                {
                    Thread.Yield();
                }
            }

            hub.Publish(
                channels[i % count],
                "k",
                Encoding.ASCII.GetBytes(string.Create(CultureInfo.InvariantCulture, $"{{\"due\":{at},\"pad\":\"{pad}\"}}")));
        }
    }
}
