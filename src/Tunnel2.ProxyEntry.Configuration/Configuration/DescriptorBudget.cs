namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>
/// How the descriptors that the process may still open are divided among the kinds of connections, so that all of them together with a
/// reserve stay below its limit: beyond it the runtime cannot even start a thread, and ends. Immutable.
/// </summary>
internal sealed record DescriptorBudget
{
    /// <summary>Below this many descriptors in all somebody should know.</summary>
    public const int FewFiles = 4096;

    /// <summary>With fewer the runtime itself fails during the start, and less clearly: it keeps two for each assembly. The exact number
    /// is known behind the start.</summary>
    public const int LeastFiles = 200;

    /// <summary>The fewest connections that a server is of use with.</summary>
    private const int LeastConnections = 11;

    /// <summary>No limit is taken for more than this.</summary>
    private const int MostFiles = 1 << 20;

    /// <summary>Below this share of what there is, what is not set never gets.</summary>
    private const int LeastAutoShare = 4;

    /// <summary>Subscribers that there are places for where nothing is set.</summary>
    public const int MostSubscribers = 12_000;

    /// <summary>Files that the process may have open.</summary>
    public required int Limit { get; init; }

    /// <summary>Connections of visitors.</summary>
    public required int Visitors { get; init; }

    /// <summary>Those of one address.</summary>
    public required int VisitorsPerAddress { get; init; }

    /// <summary>Connections of agents behind their handshake.</summary>
    public required int Uplinks { get; init; }

    /// <summary>Connections of agents before it.</summary>
    public required int Handshakes { get; init; }

    /// <summary>Connections of the admin listener but for subscribers.</summary>
    public required int Admin { get; init; }

    /// <summary>Subscribers of the live view.</summary>
    public required int Subscribers { get; init; }

    /// <summary>The settings that were reduced, as <c>Key=value: what holds</c>.</summary>
    public required IReadOnlyList<string> Reduced { get; init; }

    /// <summary>What stays free for threads, files and whatever comes and goes.</summary>
    /// <param name="limit">Files that the process may have open.</param>
    /// <param name="settings">The settings: the relay's clients are few and stay within the reserve.</param>
    public static int Reserve(int limit, ProxyEntrySettings settings) =>
        Math.Clamp(limit / 32, 20, 512) + (settings.RelayListen is null ? 0 : RelayDescriptors);

    /// <summary>The fewest files that the process must be allowed to open.</summary>
    public static int Least(int limit, int open, ProxyEntrySettings settings) => open + Reserve(limit, settings) + LeastConnections;

    /// <summary>Clients of the relay, and those that hear that they are too many.</summary>
    private const int RelayDescriptors = 64 + 16 + 2;

    /// <summary>Divides.</summary>
    /// <param name="limit">Files that the process may have open.</param>
    /// <param name="open">Those that it has now, without a connection.</param>
    /// <param name="settings">What is asked for.</param>
    /// <returns>Null where the limit is below <see cref="Least"/>.</returns>
    public static DescriptorBudget? Divide(int limit, int open, ProxyEntrySettings settings)
    {
        limit = Math.Min(limit, MostFiles);
        if (limit < Least(limit, open, settings))
        {
            return null;
        }

        var free = limit - open - Reserve(limit, settings);
        var reduced = new List<string>();
        var asked = new (string Key, int? Value)[]
        {
            (SettingKeys.UplinkConnections, settings.UplinkConnections),
            (SettingKeys.HubMaxConnections, settings.Live ? settings.HubMaxConnections : null),
            (SettingKeys.Connections, settings.MaxConnections),
        };
        var sum = asked.Sum(static share => (long)(share.Value ?? 0));
        var most = free - (free / LeastAutoShare);
        if (sum > most)
        {
            for (var i = 0; i < asked.Length; i++)
            {
                if (asked[i].Value is { } value)
                {
                    asked[i].Value = (int)Math.Max(1, value * (long)most / sum);
                    reduced.Add($"{SettingKeys.Section}:{asked[i].Key}={value}: {asked[i].Value}");
                }
            }

            sum = asked.Sum(static share => (long)(share.Value ?? 0));
        }

        var rest = (int)Math.Max(5, free - sum);
        var admin = Math.Clamp(rest / 8, 2, 256);
        var handshakes = Math.Clamp(rest / 8, 4, 1024);
        var uplinks = asked[0].Value ?? Math.Clamp(rest / 4, 2, 65_536);
        var subscribers = settings.Live ? asked[1].Value ?? Math.Clamp(rest / 8, 1, MostSubscribers) : 0;
        var visitors = asked[2].Value ?? Math.Max(2, free - admin - handshakes - uplinks - subscribers);
        return new DescriptorBudget
        {
            Limit = limit,
            Visitors = visitors,
            VisitorsPerAddress = settings.MaxConnectionsPerAddress ?? Math.Max(1, visitors / 2),
            Uplinks = uplinks,
            Handshakes = handshakes,
            Admin = admin,
            Subscribers = subscribers,
            Reduced = reduced,
        };
    }
}
