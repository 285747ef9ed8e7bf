namespace Tunnel2.Client.Core.Configuration;

/// <summary>A service of its own for the paths below one path of a tunnel. Immutable.</summary>
/// <param name="Path">Such as <c>/api</c>: it is for <c>/api</c> and for <c>/api/…</c>, and not for <c>/apis</c>.</param>
/// <param name="Target">The service.</param>
public sealed record ServiceRoute(string Path, BackendTarget Target)
{
    /// <summary>Whether the service gets the path without <see cref="Path"/>: <c>/x</c> in place of <c>/api/x</c>.</summary>
    public bool StripsPrefix { get; init; }

    /// <summary>Which version of HTTP the agent speaks with the service; null: the tunnel's.</summary>
    public BackendProtocol? Protocol { get; init; }

    /// <summary>As people write it: <c>/api -&gt; http://127.0.0.1:3000</c>.</summary>
    public override string ToString() => $"{Path} -> {Target}";
}
