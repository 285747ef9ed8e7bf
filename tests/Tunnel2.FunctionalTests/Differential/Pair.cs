namespace Tunnel2.FunctionalTests.Differential;

/// <summary>What the visitor speaks and what the service speaks.</summary>
/// <param name="VisitorIsHttp2">Whether the visitor speaks HTTP/2.</param>
/// <param name="ServiceIsHttp2">Whether the service speaks HTTP/2.</param>
internal readonly record struct Pair(bool VisitorIsHttp2, bool ServiceIsHttp2)
{
    /// <summary>All of them.</summary>
    public static Pair[] All { get; } = [new(false, false), new(false, true), new(true, false), new(true, true)];

    /// <summary>Whether HTTP/2 is spoken anywhere.</summary>
    public bool HasHttp2 => VisitorIsHttp2 || ServiceIsHttp2;

    /// <summary>The pair of a name.</summary>
    public static Pair Of(string name) => All.Single(pair => pair.ToString() == name);

    public override string ToString() => $"{Name(VisitorIsHttp2)} to {Name(ServiceIsHttp2)}";

    private static string Name(bool isHttp2) => isHttp2 ? "h2" : "h1";
}
