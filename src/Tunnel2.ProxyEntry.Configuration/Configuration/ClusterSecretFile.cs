namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>The file with the secret that all nodes of a cluster have in common. Stateless.</summary>
internal static class ClusterSecretFile
{
    /// <summary>Its name in <see cref="NodeLinkSettings.Folder"/>.</summary>
    public const string Name = "secret";

    /// <summary>The fewest characters: fewer could be guessed.</summary>
    public const int Shortest = 32;

    private const int Longest = 4096;

    /// <summary>Reads the secret, without spaces around it.</summary>
    /// <exception cref="IOException">There is none, or none that is good; the message does not show it.</exception>
    public static byte[] Read(string path)
    {
        try
        {
            SettingFile.Require(path);
            var length = new FileInfo(path).Length;
            var text = length <= Longest ? File.ReadAllText(path).Trim() : "";
            return text.Length >= Shortest
                ? System.Text.Encoding.UTF8.GetBytes(text)
                : throw new IOException(FormattableString.Invariant($"it has to have {Shortest} to {Longest} characters"));
        }
        catch (UnauthorizedAccessException exception)
        {
            throw new IOException(exception.Message, exception);
        }
    }
}
