using System.Security.Cryptography;

namespace Tunnel2.ProxyEntry.Reload;

/// <summary>
/// Notices that small files changed, by their content: unlike times it also tells of a renewed link, a mounted secret and a file system
/// without notifications. Not thread-safe.
/// </summary>
internal sealed class WatchedFiles
{
    private readonly string[] _paths;
    private byte[] _seen;

    public WatchedFiles(IEnumerable<string> paths)
    {
        _paths = [.. paths];
        _seen = Look();
    }

    /// <summary>Whether any file differs from how it was when this was asked before (or when the watch was made).</summary>
    public bool HaveChanged()
    {
        var now = Look();
        var changed = !now.AsSpan().SequenceEqual(_seen);
        _seen = now;
        return changed;
    }

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
