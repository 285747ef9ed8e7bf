using System.Globalization;
using System.Net;

namespace Tunnel2.IdleConnections;

/// <summary>The program's arguments.</summary>
internal sealed record IdleOptions
{
    public const string Usage =
        """
        usage: tunnel2-idle websockets|sessions --to ADDRESS:PORT [--host HOST] [--path PATH] [--count N] [--seconds N] [--pids N,N…]
                            [--limit-mb N] [--limit-kb-each N]

          websockets   opens WebSockets to a public listener; at the end each must echo a message
          sessions     registers agents that serve nothing at an uplink listener; at the end each must still be there
          --to         a loopback address: nothing else is connected to
          --host       the Host header (default web.localhost)
          --path       the WebSocket's path (default /ws-echo)
          --count      how many (default 1000, at most 20000)
          --seconds    how long they stay idle (default 30, at most 3600)
          --pids       processes whose resident memory is shown
          --limit-mb, --limit-kb-each   exit code 1 when these processes together hold more in the end, or have grown by more for each
        """;

    public required bool IsSessions { get; init; }

    public required IPEndPoint To { get; init; }

    public string Host { get; init; } = "web.localhost";

    public string Path { get; init; } = "/ws-echo";

    public int Count { get; init; } = 1000;

    public TimeSpan Duration { get; init; } = TimeSpan.FromSeconds(30);

    public int[] Pids { get; init; } = [];

    public double LimitMegabytes { get; init; } = double.MaxValue;

    public double LimitKilobytesEach { get; init; } = double.MaxValue;

    /// <summary>Reads the arguments.</summary>
    /// <returns>Null when they cannot be understood.</returns>
    public static IdleOptions? Parse(string[] arguments)
    {
        if (arguments.Length % 2 == 0 || arguments[0] is not ("websockets" or "sessions"))
        {
            return null;
        }

        var options = new IdleOptions { IsSessions = arguments[0] == "sessions", To = new IPEndPoint(IPAddress.None, 0) };
        for (var i = 1; i < arguments.Length; i += 2)
        {
            var value = arguments[i + 1];
            options = arguments[i] switch
            {
                "--to" when IPEndPoint.TryParse(value, out var to) => options with { To = to },
                "--host" => options with { Host = value },
                "--path" => options with { Path = value },
                "--count" when Number(value) is > 0 and <= 20_000 and var count => options with { Count = count },
                "--seconds" when Number(value) is >= 0 and <= 3600 and var seconds =>
                    options with { Duration = TimeSpan.FromSeconds(seconds) },
                "--pids" => options with { Pids = [.. value.Split(',').Select(Number)] },
                "--limit-mb" => options with { LimitMegabytes = Number(value) },
                "--limit-kb-each" => options with { LimitKilobytesEach = Number(value) },
                _ => options with { To = new IPEndPoint(IPAddress.None, 0) },
            };
        }

        return IPAddress.IsLoopback(options.To.Address) ? options : null;
    }

    private static int Number(string text) =>
        int.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out var number) ? number : -1;
}
