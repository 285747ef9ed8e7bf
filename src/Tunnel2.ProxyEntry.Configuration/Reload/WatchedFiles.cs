using System.Security.Cryptography;

namespace Tunnel2.ProxyEntry.Reload;

/// <summary>
/// Notices that small files changed, by their content: unlike times it also tells of a renewed link, a mounted secret and a file system
/// without notifications. A change is news until it was taken over (<see cref="Accept"/>): what could not be read or used is tried again.
/// Not thread-safe.
/// </summary>
internal sealed class WatchedFiles : IChangeWatch
{
    private readonly string[] _paths;
    private byte[] _accepted;
    private byte[] _seen;

    /// <summary>Looks at the files. Make it before they are loaded: what changes meanwhile is then seen as a change.</summary>
    public WatchedFiles(IEnumerable<string> paths)
    {
        _paths = [.. paths];
        _accepted = _seen = Look();
    }

    /// <summary>Whether any file differs from how it was when its content was last taken over (or when the watch was made).</summary>
    public bool HaveChanged()
    {
        _seen = Look();
        return !_seen.AsSpan().SequenceEqual(_accepted);
    }

    /// <summary>What the last look saw has been taken over.</summary>
    public void Accept() => _accepted = _seen;

    private byte[] Look()
    {
        using var hash = IncrementalHash.CreateHash(HashAlgorithmName.SHA256);
        foreach (var path in _paths)
        {
            try
            {
                hash.AppendData(SHA256.HashData(File.ReadAllBytes(path)));
            }
            catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
            {
                // Missing or not readable is a state as well; what it means is for whoever loads the file to say.
                hash.AppendData("none"u8);
            }
        }

        return hash.GetHashAndReset();
    }
}
