using System.Diagnostics;
using System.Globalization;
using System.Text;
using Microsoft.Extensions.Configuration;
using Microsoft.Extensions.Logging;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Hosting;
using Tunnel2.ProxyEntry.Live;
using Tunnel2.Telemetry.SubscriptionHub;
using Tunnel2.Transport.Engine;
using Tunnel2.Transport.Sockets;

namespace Tunnel2.HubLoad;

/// <summary>
/// The measured process: a whole ProxyEntry, and a thread that publishes on its hub by the clock, and waits for no message.
/// Commands on standard input, each answered by one line: <c>create CHANNELS</c>, <c>publish CHANNELS RATE SECONDS BURST</c>,
/// <c>begin …</c> (the same, without waiting for the end), <c>counts CHANNELS</c> (waits for the end), <c>state</c>, <c>burn 0|1</c>,
/// <c>hold SHARE</c>, <c>threads COUNT</c>, <c>stop</c>. Its arguments are settings: <c>Hub:MaxThreads=100</c>.
/// </summary>
internal static class HubServer
{
    private const int Pad = 220;

    public static async Task<int> RunAsync(string[] args)
    {
        var values = new Dictionary<string, string?>
        {
            ["Tunnel2:Public:HttpListen"] = "127.0.0.1:0",
            ["Tunnel2:Uplink:Listen"] = "127.0.0.1:0",
            ["Tunnel2:Admin:Listen"] = "127.0.0.1:0",
            ["Tunnel2:EntryId"] = "load",
            ["Tunnel2:Hub:MaxConnections"] = LoadRun.MostSubscribers(OpenFiles.Limit()).ToString(CultureInfo.InvariantCulture),
        };
        foreach (string setting in args)
        {
            int equals = setting.IndexOf('=', StringComparison.Ordinal);
            values[$"Tunnel2:{setting[..equals]}"] = setting[(equals + 1)..];
        }

        var settings = SettingsLoader.Load(new ConfigurationBuilder().AddInMemoryCollection(values).Build());
        using var engine = EngineSetup.Start(EngineMode.Auto, loops: 1);
        await using var host = await ProxyEntryHost.StartAsync(
            settings.Settings!, engine, logging => logging.SetMinimumLevel(LogLevel.Error));
        Console.WriteLine(string.Create(CultureInfo.InvariantCulture, $"ready {host.AdminEndPoint.Port}"));
        using var loads = new ServerLoads();
        Hub hub = host.Live.Hub!;
        Task publishing = Task.CompletedTask;
        while (Console.ReadLine() is { } line)
        {
            string[] words = line.Split(' ');
            switch (words[0])
            {
                case "create":
                    Channels(hub, Number(words[1]));
                    break;
                case "publish" or "begin":
                    int[] numbers = [.. words[1..].Select(Number)];
                    publishing = Task.Factory.StartNew(
                        () => Publish(hub, numbers[0], numbers[1], numbers[2], numbers[3]), CancellationToken.None,
                        TaskCreationOptions.LongRunning, TaskScheduler.Default);
                    break;
                case "burn":
                    loads.Burn(words[1] == "1");
                    break;
                case "hold":
                    loads.Hold(double.Parse(words[1], CultureInfo.InvariantCulture));
                    break;
                case "threads":
                    loads.Park(Number(words[1]));
                    break;
                case "counts" or "state":
                    break;
                default:
                    return 0;
            }

            if (words[0] is "publish" or "counts")
            {
                await publishing;
            }

            IEnumerable<string> answer = words[0] switch
            {
                "state" => State(host.Live),
                "publish" or "counts" => Counts(hub, words[1]),
                _ => [],
            };
            Console.WriteLine(string.Join(' ', ["done", hub.Connections.ToString(CultureInfo.InvariantCulture), .. answer]));
        }

        return 0;
    }

    private static int Number(string word) => int.Parse(word, CultureInfo.InvariantCulture);

    private static IEnumerable<string> State(LivePlane live) =>
    [
        live.Guard!.Connections.ToString(CultureInfo.InvariantCulture), live.SlowSubscribers!.Count.ToString(CultureInfo.InvariantCulture),
        live.Guard.IsPausing ? "1" : "0",
    ];

    private static IEnumerable<string> Counts(Hub hub, string channels) =>
        Channels(hub, Number(channels)).Select(channel => channel.SequenceUnsynchronized.ToString(CultureInfo.InvariantCulture));

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
