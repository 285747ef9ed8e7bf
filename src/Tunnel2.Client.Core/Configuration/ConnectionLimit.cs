using System.Globalization;

namespace Tunnel2.Client.Core.Configuration;

/// <summary>How many connections to services the process may have at once. The default value is automatic.</summary>
public readonly record struct ConnectionLimit
{
    /// <summary>The highest number that can be asked for.</summary>
    public const int MaxCount = 1_000_000;

    private ConnectionLimit(int count)
    {
        Count = count;
    }

    /// <summary>What the process's limit of open files leaves beside a reserve.</summary>
    public static ConnectionLimit Auto => default;

    /// <summary>Whether the limit of open files decides.</summary>
    public bool IsAuto => Count == 0;

    /// <summary>The fixed number, 1–1,000,000; 0 when automatic.</summary>
    public int Count { get; }

    /// <summary>At most <paramref name="count"/> connections.</summary>
    /// <exception cref="ArgumentOutOfRangeException">Not 1–1,000,000.</exception>
    public static ConnectionLimit Fixed(int count)
    {
        ArgumentOutOfRangeException.ThrowIfLessThan(count, 1);
        ArgumentOutOfRangeException.ThrowIfGreaterThan(count, MaxCount);
        return new ConnectionLimit(count);
    }

    /// <inheritdoc/>
    public override string ToString() => IsAuto ? "auto" : Count.ToString(CultureInfo.InvariantCulture);
}
