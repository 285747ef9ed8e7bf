using System.Security.Cryptography;
using Tunnel2.ProxyEntry.Configuration;

namespace Tunnel2.ProxyEntry.Reload;

/// <summary>
/// Notices changes of small files, by their content. Unlike times, the content also shows a renewed link, a mounted secret, and changes on
/// a file system without notifications. A change is reported until it was accepted (<see cref="Accept"/>), so a file that could not be read
/// or used is tried again. Not thread-safe.
/// </summary>
internal sealed class WatchedFiles : IChangeWatch
{
    private readonly string[] _paths;
    private byte[] _accepted;
    private byte[] _seen;

    /// <summary>Reads the files. Make the watch before the files are loaded, so that later changes are noticed.</summary>
    public WatchedFiles(IEnumerable<string> paths)
    {
        _paths = [.. paths];
        _accepted = _seen = Look();
    }

    /// <summary>Whether a file differs from its last accepted content (or from that when the watch was made).</summary>
    public bool HaveChanged()
    {
        _seen = Look();
        return !_seen.AsSpan().SequenceEqual(_accepted);
    }

    /// <summary>The content of the last look is in use.</summary>
    public void Accept() => _accepted = _seen;

    private byte[] Look()
    {
        using var hash = IncrementalHash.CreateHash(HashAlgorithmName.SHA256);
        foreach (var path in _paths)
        {
            try
            {
                hash.AppendData(SHA256.HashData(SettingFile.HasContent(path) ? File.ReadAllBytes(path) : []));
            }
            catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
            {
                // A missing or unreadable file is a state too. The code that loads the file decides what it means.
                hash.AppendData("none"u8);
            }
        }

        return hash.GetHashAndReset();
    }
}
