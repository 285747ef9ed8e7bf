namespace Tunnel2.Client.Core.Configuration;

/// <summary>What becomes of a request's Host header.</summary>
public enum HostHeaderMode
{
    /// <summary>The backend sees the Host the visitor sent.</summary>
    Keep = 0,

    /// <summary>The backend sees its own host and port (<see cref="BackendTarget.HostHeader"/>).</summary>
    Rewrite,

    /// <summary>The backend sees a fixed value.</summary>
    Fixed,
}

/// <summary>Which Host header the backend sees: the visitor's, its own, or a fixed one. The default value keeps the visitor's.</summary>
public readonly record struct HostHeaderPolicy
{
    private HostHeaderPolicy(HostHeaderMode mode, string? value)
    {
        Mode = mode;
        Value = value;
    }

    /// <summary>The backend sees the Host the visitor sent (the default).</summary>
    public static HostHeaderPolicy Keep => default;

    /// <summary>The backend sees its own host and port.</summary>
    public static HostHeaderPolicy Rewrite => new(HostHeaderMode.Rewrite, null);

    /// <summary>Which of the three.</summary>
    public HostHeaderMode Mode { get; }

    /// <summary>The fixed <c>host</c> or <c>host:port</c>; null in the other modes.</summary>
    public string? Value { get; }

    /// <summary>The value to send to <paramref name="upstream"/> in place of the visitor's, or null to keep the visitor's.</summary>
    public string? ValueFor(BackendTarget upstream)
    {
        ArgumentNullException.ThrowIfNull(upstream);
        return Mode == HostHeaderMode.Rewrite ? upstream.HostHeader : Value;
    }

    /// <inheritdoc/>
    public override string ToString() => Value ?? (Mode == HostHeaderMode.Rewrite ? "rewrite" : "keep");

    /// <summary>Reads <c>keep</c>, <c>rewrite</c> (any case) or a <c>host[:port]</c>.</summary>
    /// <returns>Null and a <paramref name="policy"/>, or what is wrong.</returns>
    internal static string? TryParse(string text, out HostHeaderPolicy policy)
    {
        policy = Keep;
        if (text.Equals("keep", StringComparison.OrdinalIgnoreCase))
        {
            return null;
        }

        if (text.Equals("rewrite", StringComparison.OrdinalIgnoreCase))
        {
            policy = Rewrite;
            return null;
        }

        string? mistake = HostPort.TrySplit(text, out _, out _);
        if (mistake is null)
        {
            policy = new HostHeaderPolicy(HostHeaderMode.Fixed, text);
            return null;
        }

        return $"{mistake}; give keep, rewrite or a host such as app.local:8080";
    }
}
