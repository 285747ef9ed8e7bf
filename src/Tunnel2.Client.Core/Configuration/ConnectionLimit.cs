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

    /// <summary>What the process's limit of open files leaves behind a reserve.</summary>
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

    /// <summary>Reads <c>auto</c> (any case) or a number from 1 to 1,000,000.</summary>
    /// <returns>Null and a <paramref name="limit"/>, or what is wrong.</returns>
    internal static string? TryParse(string text, out ConnectionLimit limit)
    {
        limit = Auto;
        if (text.Equals("auto", StringComparison.OrdinalIgnoreCase))
        {
            return null;
        }

        if (int.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out int count) && count is >= 1 and <= MaxCount)
        {
            limit = Fixed(count);
            return null;
        }

        return $"'{text}' is not auto or a number from 1 to {MaxCount}";
    }
}
