using System.Globalization;

namespace Tunnel2.TestBackend;

/// <summary>Walks over the parts of a path between its slashes, without allocating.</summary>
internal ref struct PathParts
{
    private ReadOnlySpan<char> _rest;

    public PathParts(ReadOnlySpan<char> path)
    {
        _rest = path;
    }

    /// <summary>The next part; empty at the end.</summary>
    public ReadOnlySpan<char> Next()
    {
        var rest = _rest.StartsWith("/") ? _rest[1..] : _rest;
        var slash = rest.IndexOf('/');
        var part = slash < 0 ? rest : rest[..slash];
        _rest = rest[part.Length..];
        return part;
    }

    /// <summary>The next part, if it is a whole number from 0 to 2^63 - 1.</summary>
    public bool TryNextNumber(out long number) => long.TryParse(Next(), NumberStyles.None, CultureInfo.InvariantCulture, out number);
}
