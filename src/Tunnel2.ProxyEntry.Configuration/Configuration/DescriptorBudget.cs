namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>
/// Divides the descriptors that the process may still open among the kinds of connections. All of them together with a reserve stay below
/// the process's limit: at the limit the runtime cannot start a thread, and the process ends. Immutable.
/// </summary>
internal sealed record DescriptorBudget
{
    /// <summary>Below this many descriptors in all, the log reports the numbers.</summary>
    public const int FewFiles = 4096;

    /// <summary>
    /// With fewer descriptors the runtime itself fails during the start, with a less clear error, because it keeps two for each assembly.
    /// The exact number is known only after the start.
    /// </summary>
    public const int LeastFiles = 200;

    /// <summary>The smallest number of connections with which a server is useful.</summary>
    private const int LeastConnections = 11;

    /// <summary>A higher limit counts as this one.</summary>
    private const int MostFiles = 1 << 20;

    /// <summary>Kinds of connections without a setting get together at least 1 / this of the free descriptors.</summary>
    private const int LeastAutoShare = 4;

    /// <summary>Places for subscribers, at most, if there is no setting.</summary>
    public const int MostSubscribers = 12_000;

    /// <summary>Files that the process may have open.</summary>
    public required int Limit { get; init; }

    /// <summary>Connections of visitors.</summary>
    public required int Visitors { get; init; }

    /// <summary>Connections of visitors from one address.</summary>
    public required int VisitorsPerAddress { get; init; }

    /// <summary>Connections of agents after their handshake.</summary>
    public required int Uplinks { get; init; }

    /// <summary>Connections of agents before the end of their handshake.</summary>
    public required int Handshakes { get; init; }

    /// <summary>Connections of the admin listener, except subscribers.</summary>
    public required int Admin { get; init; }

    /// <summary>Subscribers of the live view.</summary>
    public required int Subscribers { get; init; }

    /// <summary>The settings that were reduced, as <c>Key=value: the new value</c>.</summary>
    public required IReadOnlyList<string> Reduced { get; init; }

    /// <summary>Descriptors that stay free for threads, files and other short uses.</summary>
    /// <param name="limit">Files that the process may have open.</param>
    /// <param name="settings">The settings. The relay's clients are few and belong to the reserve.</param>
    public static int Reserve(int limit, ProxyEntrySettings settings) =>
        Math.Clamp(limit / 32, 20, 512) + (settings.RelayListen is null ? 0 : RelayDescriptors);

    /// <summary>The lowest limit of open files with which the server starts.</summary>
    public static int Least(int limit, int open, ProxyEntrySettings settings) => open + Reserve(limit, settings) + LeastConnections;

    /// <summary>Clients of the relay, and connections that are not clients yet.</summary>
    private const int RelayDescriptors = 64 + 64 + 2;

    /// <summary>Divides the descriptors.</summary>
    /// <param name="limit">Files that the process may have open.</param>
    /// <param name="open">How many files it has open now, without connections.</param>
    /// <param name="settings">The numbers that the settings ask for.</param>
    /// <returns>Null when the limit is below <see cref="Least"/>.</returns>
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
            (SettingKeys.HubMaxConnections, settings.Live ? settings.Hub.MaxConnections : null),
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
