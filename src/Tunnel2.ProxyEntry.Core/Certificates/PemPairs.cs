namespace Tunnel2.ProxyEntry.Certificates;

/// <summary>
/// Finds the certificates of a folder by the names that tools give to files: <c>web.pem</c> with its key inside or in <c>web.key</c> or
/// <c>web-key.pem</c>; <c>tls.crt</c> with <c>tls.key</c>; and in folders of it the same, or <c>fullchain.pem</c> with <c>privkey.pem</c>.
/// Hidden files and folders are left out. Stateless.
/// </summary>
internal static class PemPairs
{
    private const string ChainName = "fullchain.pem";
    private const string KeyName = "privkey.pem";
    private const string KeyEnd = "-key.pem";

    private static readonly string[] _endings = [".pem", ".crt", ".cer"];

    /// <summary>The files of certificates, each with the file of its key, in the order of their names.</summary>
    /// <exception cref="IOException">The folder cannot be read.</exception>
    /// <exception cref="UnauthorizedAccessException">The process may not read the folder.</exception>
    public static IEnumerable<(string Chain, string Key)> In(string folder)
    {
        foreach (var pair in Of(folder))
        {
            yield return pair;
        }

        foreach (var below in Directory.EnumerateDirectories(folder).Where(IsVisible).Order(StringComparer.Ordinal))
        {
            var (chain, key) = (Path.Combine(below, ChainName), Path.Combine(below, KeyName));
            if (File.Exists(chain))
            {
                // The other files of this folder are parts of the two.
                yield return (chain, File.Exists(key) ? key : chain);
                continue;
            }

            foreach (var pair in Of(below))
            {
                yield return pair;
            }
        }
    }

    private static IEnumerable<(string Chain, string Key)> Of(string folder)
    {
        var files = Directory.EnumerateFiles(folder).Where(IsVisible).ToHashSet(StringComparer.Ordinal);
        foreach (var file in files.Order(StringComparer.Ordinal))
        {
            var stem = Path.Combine(folder, Path.GetFileNameWithoutExtension(file));
            if (!_endings.Contains(Path.GetExtension(file), StringComparer.OrdinalIgnoreCase) || IsKey(file, files))
            {
                continue;
            }

            yield return (file, files.Contains(stem + ".key") ? stem + ".key" : files.Contains(stem + KeyEnd) ? stem + KeyEnd : file);
        }
    }

    /// <summary>Whether the file is the key of another one.</summary>
    private static bool IsKey(string file, HashSet<string> files) =>
        Path.GetFileName(file) == KeyName
        || (file.EndsWith(KeyEnd, StringComparison.Ordinal)
            && Array.Exists(_endings, ending => files.Contains(file[..^KeyEnd.Length] + ending)));

    private static bool IsVisible(string path) => !Path.GetFileName(path).StartsWith('.');
}
