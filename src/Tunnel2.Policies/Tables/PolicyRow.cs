using System.Collections.Immutable;

namespace Tunnel2.Policies.Tables;

/// <summary>How a row ends the walk through its table.</summary>
internal enum PolicyEnd
{
    /// <summary>Not at all: the next row is looked at.</summary>
    None = 0,

    /// <summary>The request passes this table.</summary>
    Allow,

    /// <summary>The request is refused.</summary>
    Deny,

    /// <summary>The visitor is sent elsewhere.</summary>
    Redirect,

    /// <summary>The visitor gets an answer of the table.</summary>
    Answer,
}

/// <summary>One row of a policy. Immutable.</summary>
internal sealed record PolicyRow
{
    /// <summary>Its number, from 1.</summary>
    public required int Number { get; init; }

    /// <summary>Which requests it is for.</summary>
    public required PolicyMatch Match { get; init; }

    /// <summary>How it ends the walk.</summary>
    public PolicyEnd End { get; init; }

    /// <summary>Where it sends the visitor; null: nowhere.</summary>
    public PolicyRedirect? Redirect { get; init; }

    /// <summary>What the visitor gets; null: nothing.</summary>
    public PolicyAnswer? Answer { get; init; }

    /// <summary>What it does with fields of the request, in order.</summary>
    public ImmutableArray<FieldEdit> RequestEdits { get; init; } = [];

    /// <summary>What it does with fields of the service's response, in order.</summary>
    public ImmutableArray<FieldEdit> ResponseEdits { get; init; } = [];

    /// <summary>How many requests may pass; null: any number.</summary>
    public PolicyRate? Rate { get; init; }

    /// <summary>The maximum number of bytes of the request's body; null: no limit.</summary>
    public long? BodyLimit { get; init; }

    /// <summary>How long the service may take to begin its answer; null: no limit.</summary>
    public TimeSpan? Timeout { get; init; }

    /// <summary>The first condition that does not hold; null: the row matches.</summary>
    public PolicyCondition? FindObstacle(PolicyRequest request) => Match.FindObstacle(request, isStrict: End == PolicyEnd.Allow);
}

/// <summary>Where a row sends the visitor. Immutable.</summary>
/// <param name="Status">301, 302, 303, 307 or 308.</param>
/// <param name="Target">A URL, or a path of the same host: visible ASCII.</param>
/// <param name="KeepsPath">Whether path and query of the request follow.</param>
internal sealed record PolicyRedirect(int Status, string Target, bool KeepsPath)
{
    /// <summary>The value of <c>Location</c>.</summary>
    /// <param name="target">Path and query of the request, as the service would get them.</param>
    public string LocationFor(string target) => KeepsPath ? Target + (target.StartsWith('/') ? target : "/") : Target;
}

/// <summary>An answer in place of the service. Immutable.</summary>
/// <param name="Status">200 to 599.</param>
/// <param name="Type">The value of <c>Content-Type</c>.</param>
/// <param name="Body">The body.</param>
internal sealed record PolicyAnswer(int Status, string Type, ReadOnlyMemory<byte> Body)
{
    /// <summary>Further fields.</summary>
    public ImmutableArray<KeyValuePair<string, string>> Fields { get; init; } = [];
}

/// <summary>By what requests are counted.</summary>
internal enum PolicyRateKey
{
    /// <summary>By the visitor's address; IPv6 by /64.</summary>
    Address = 0,

    /// <summary>By the value of a field, and by the address where it is missing.</summary>
    Header,

    /// <summary>All together.</summary>
    Tunnel,
}

/// <summary>How many requests may pass. Immutable.</summary>
/// <param name="PerSecond">How many come back in a second.</param>
/// <param name="Burst">How many may come at once.</param>
/// <param name="Key">By what they are counted.</param>
/// <param name="Header">The field's name; empty for other keys.</param>
/// <param name="Text">The rate as it is written.</param>
internal sealed record PolicyRate(double PerSecond, int Burst, PolicyRateKey Key, string Header, string Text);
