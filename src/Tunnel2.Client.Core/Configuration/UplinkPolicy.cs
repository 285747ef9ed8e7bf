using System.Globalization;

namespace Tunnel2.Client.Core.Configuration;

/// <summary>How many uplinks (connections to the server) a session uses. The default value is automatic.</summary>
public readonly record struct UplinkPolicy
{
    /// <summary>How many uplinks can be asked for.</summary>
    public const int MaxCount = 16;

    private UplinkPolicy(int count)
    {
        Count = count;
    }

    /// <summary>One uplink, more under load, loss or a stall.</summary>
    public static UplinkPolicy Auto => default;

    /// <summary>Whether the session itself decides.</summary>
    public bool IsAuto => Count == 0;

    /// <summary>The fixed number, 1–16; 0 when automatic.</summary>
    public int Count { get; }

    /// <summary>Always <paramref name="count"/> uplinks.</summary>
    /// <exception cref="ArgumentOutOfRangeException">Not 1–16.</exception>
    public static UplinkPolicy Fixed(int count)
    {
        ArgumentOutOfRangeException.ThrowIfLessThan(count, 1);
        ArgumentOutOfRangeException.ThrowIfGreaterThan(count, MaxCount);
        return new UplinkPolicy(count);
    }

    /// <inheritdoc/>
    public override string ToString() => IsAuto ? "auto" : Count.ToString(CultureInfo.InvariantCulture);
}
