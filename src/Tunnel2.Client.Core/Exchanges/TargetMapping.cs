using System.Text;
using Tunnel2.Client.Core.Configuration;

namespace Tunnel2.Client.Core.Exchanges;

/// <summary>
/// Makes the target that a service gets of the visitor's: its route's prefix is taken off, its own is put before. Immutable.
/// </summary>
internal sealed class TargetMapping
{
    private readonly byte[] _prefix;
    private readonly int _stripped;

    /// <param name="target">The service.</param>
    /// <param name="stripped">Bytes to take off; <see cref="RouteMap"/> has seen that they are there.</param>
    public TargetMapping(BackendTarget target, int stripped)
    {
        _prefix = Encoding.ASCII.GetBytes(target.PathPrefix);
        _stripped = stripped;
    }

    /// <summary>Maps a target. <c>*</c>, which is no path, stays as it is.</summary>
    public ReadOnlySpan<byte> Map(ReadOnlySpan<byte> target)
    {
        if (target.IsEmpty || target[0] != (byte)'/')
        {
            return target;
        }

        var rest = target[Math.Min(_stripped, target.Length)..];
        var lacksSlash = rest.IsEmpty || rest[0] != (byte)'/';
        if (_prefix.Length == 0 && !lacksSlash)
        {
            return rest;
        }

        var slash = lacksSlash ? 1 : 0;
        var mapped = new byte[_prefix.Length + slash + rest.Length];
        _prefix.CopyTo(mapped, 0);
        mapped.AsSpan(_prefix.Length, slash).Fill((byte)'/');
        rest.CopyTo(mapped.AsSpan(_prefix.Length + slash));
        return mapped;
    }
}
